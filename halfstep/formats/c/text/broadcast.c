/* Extents of a result, and how far apart its elements are in either operand: 0 where one is repeated. */
typedef struct {
    int32_t count[4], a_step[4], b_step[4];
} broadcast;
