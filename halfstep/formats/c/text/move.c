/* Loops that move elements, from the outermost to the innermost: counts and strides. */
typedef struct {
    int32_t to, from; /* of the first element */
    int32_t count[5], to_step[5], from_step[5];
} move;
