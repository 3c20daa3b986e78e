# bash completion of halfstep. The program lists its own options.
complete -o bashdefault -o default -C 'halfstep --complete' halfstep
