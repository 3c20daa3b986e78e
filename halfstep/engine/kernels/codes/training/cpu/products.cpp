#include "halfstep/engine/kernels/codes/training/cpu/products.h"

#include <algorithm>

#include "halfstep/core/base/divide.h"
#include "halfstep/core/base/tensor.h"

namespace halfstep::kernels::training {

Products::Products(const Layer& layer, const Cut& cut, const ProductSpec& spec)
    : layer_(layer), cut_(cut), spec_(spec) {
  const ConvGeometry& g = layer_.geometry;
  slices_ = ceil_div(g.group_in(), spec_.slice_channels);
  HS_CHECK(slices_ == 1 || g.groups == 1);
  const int64_t last_images = g.n - (cut_.image_parts - 1) * cut_.images;
  for (const int64_t images : {cut_.images, last_images}) {
    for (int64_t part = 0; part < cut_.output_parts; ++part) {
      for (int64_t slice = 0; slice < slices_; ++slice) {
        Job job = make_job(images, part, slice);
        job.packed = packed_bytes_;
        packed_bytes_ += aligned(job.packed_bytes);
        scratch_ = std::max(scratch_, layer_.linear ? job.matmul.scratch() : job.convolution.scratch());
        jobs_.push_back(std::move(job));
      }
    }
    if (last_images == cut_.images) break;
  }
}

Products::Job Products::make_job(int64_t images, int64_t output_part, int64_t slice) const {
  const ConvGeometry& g = layer_.geometry;
  const Piece piece = cut_.piece(output_part);  // piece of the first image part
  const int64_t first_channel = slice * spec_.slice_channels;
  const int64_t channels = std::min(spec_.slice_channels, g.group_in() - first_channel);
  Job job;
  job.weights = static_cast<size_t>(piece.output * g.filter() + first_channel * g.taps()) * size_of(spec_.weights);
  if (layer_.linear) {
    job.matmul = make_matmul(images, piece.outputs, channels);
    job.packed_bytes = job.matmul.packed_bytes();
  } else {
    job.convolution = make_convolution(images, piece.outputs, channels);
    job.packed_bytes = job.convolution.packed_bytes();
  }
  return job;
}

onednn::Convolution Products::make_convolution(int64_t images, int64_t outputs, int64_t channels) const {
  onednn::Convolution::Spec spec;
  ConvGeometry& g = spec.geometry;
  g = layer_.geometry;
  g.n = images;
  g.o = outputs;
  g.groups = g.groups > 1 ? outputs / layer_.geometry.group_out() : 1;
  g.c = g.groups * channels;
  g.h = spec_.height;
  g.w = spec_.width;
  g.pad = spec_.pad;
  spec.x_image = spec_.x_image;
  spec.out_image = outputs * layer_.pixels();
  spec.x_channels_last = spec_.x_channels_last;
  spec.out_channels_last = spec_.out_channels_last;
  spec.filter = layer_.geometry.filter();
  spec.x = spec_.x;
  spec.weights = spec_.weights;
  spec.out = spec_.out;
  return onednn::Convolution(spec);
}

onednn::Matmul Products::make_matmul(int64_t images, int64_t outputs, int64_t channels) const {
  onednn::Matmul::Spec spec;
  spec.m = images;
  spec.n = outputs;
  spec.k = channels;
  spec.a_row = spec_.x_image;
  spec.b_row = 1;
  spec.b_column = layer_.geometry.filter();
  spec.c_row = outputs;
  spec.pack_b = true;
  spec.a = spec_.x;
  spec.b = spec_.weights;
  spec.c = spec_.out;
  return onednn::Matmul(spec);
}

Status Products::pack(const void* weights, std::byte* packed, std::byte* scratch) const {
  for (const Job& job : jobs_) {
    if (job.packed_bytes == 0) continue;
    const std::byte* from = static_cast<const std::byte*>(weights) + job.weights;
    Status status = layer_.linear ? job.matmul.pack(from, packed + job.packed, scratch)
                                  : job.convolution.pack(from, packed + job.packed, scratch);
    if (!status.ok()) return status;
  }
  return {};
}

Status Products::multiply(int64_t piece, int64_t slice, const void* x, const void* weights, const std::byte* packed,
                          void* tile, std::byte* scratch) const {
  const int64_t images = cut_.piece(piece).images;
  const int64_t kind = images == cut_.images ? 0 : 1;
  const Job& job = jobs_[(kind * cut_.output_parts + piece % cut_.output_parts) * slices_ + slice];
  const void* from = job.packed_bytes == 0 ? static_cast<const std::byte*>(weights) + job.weights : packed + job.packed;
  const int64_t plane = spec_.height * spec_.width;
  const auto offset = static_cast<size_t>(slice * spec_.slice_channels * plane) * size_of(spec_.x);
  const std::byte* input = static_cast<const std::byte*>(x) + offset;
  return layer_.linear ? job.matmul.multiply(input, from, nullptr, tile, scratch)
                       : job.convolution.forward(input, from, nullptr, tile, scratch);
}

}  // namespace halfstep::kernels::training
