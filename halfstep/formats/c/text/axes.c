/* Loops over the elements of a result, and over the elements that are reduced to each. */
typedef struct {
    int32_t count[4], step[4], shared[4], shared_step[4];
} axes;
