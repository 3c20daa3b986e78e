# bash completion of halfstep: the program says what its options are.
complete -o bashdefault -o default -C 'halfstep --complete' halfstep
