module example.org/holdfast/post

go 1.19
