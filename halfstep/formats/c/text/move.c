/* Elements that move: loops from the outermost in, how often, and how far apart elements are. */
typedef struct {
    int32_t to, from; /* of the first element */
    int32_t count[5], to_step[5], from_step[5];
} move;
