/* Windows over up to three axes of planes, and the numbers that name places in x. */
typedef struct {
    int32_t images, channels, x_image, x_channel, y_image, y_channel;
    int32_t extent[3], windows[3], kernel[3], stride[3], dilation[3], before[3], x_step[3], y_step[3], place_step[3];
} pool_axes;
