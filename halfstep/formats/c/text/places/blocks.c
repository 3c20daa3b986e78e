/* Positions in x: indices along the axes of a batch, and blocks of elements behind them. */
typedef struct {
    int32_t count, per_batch, batch_step, depth, inner, extent[6], step[6];
} blocks;
