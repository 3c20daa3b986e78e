// Halfstep's C++ face: one function for each verb, on values (namespace halfstep::api, a header each), and eager::call
// for one operator. The command line and Python call nothing else.
//
// Every function throws halfstep::Error; its kind says what an exit code should be. Nothing is printed. Files are whole
// or not there.
#pragma once

#include "halfstep/api/contact_sheet.h"
#include "halfstep/api/convert.h"
#include "halfstep/api/dataset.h"
#include "halfstep/api/evaluate.h"
#include "halfstep/api/export.h"
#include "halfstep/api/fuzz.h"
#include "halfstep/api/gradient.h"
#include "halfstep/api/inspect.h"
#include "halfstep/api/inspect_data.h"
#include "halfstep/api/model.h"
#include "halfstep/api/op.h"
#include "halfstep/api/quantize.h"
#include "halfstep/api/quickstart.h"
#include "halfstep/api/run.h"
#include "halfstep/api/runner.h"
#include "halfstep/api/settings.h"
#include "halfstep/api/test_data.h"
#include "halfstep/api/train.h"
#include "halfstep/api/trainable.h"
#include "halfstep/api/verify.h"
#include "halfstep/base/version.h"
#include "halfstep/eager/call.h"
#include "halfstep/report/converted.h"
#include "halfstep/report/course.h"
#include "halfstep/report/data.h"
#include "halfstep/report/inspection.h"
#include "halfstep/report/quantized.h"
#include "halfstep/report/quickstart.h"
#include "halfstep/report/roads.h"
#include "halfstep/report/table.h"
#include "halfstep/report/target.h"
#include "halfstep/report/trained.h"
