/* Loops over the elements of a result, and for each over those that become one. */
typedef struct {
    int32_t count[4], step[4], shared[4], shared_step[4];
} axes;
