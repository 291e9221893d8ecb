// Generated from lines.py by generate.py. Do not edit.

#ifndef XLA_DUMP_TABLES_H
#define XLA_DUMP_TABLES_H

// The tables of FileColumns (server/xla_lens/syntax/tables.py), in the same order.
enum Table {
  TABLE_ALLOCATIONS,
  TABLE_SLICES,
  TABLE_USED_VALUES,
  TABLE_POSITIONS,
  TABLE_USES,
  TABLE_SCHEDULE,
  TABLE_LIVE_RANGES,
  TABLE_PEAKS,
  TABLE_PEAK_BUFFERS,
  TABLE_STACK_TRACE_HEADERS,
  TABLE_STACK_TRACES,
  TABLE_TOTALS,
  TABLE_OTHER_COLOR_VALUES,
  TABLE_LIVE_RANGE_HEADERS,
  TABLE_REPORT_ALLOCATIONS,
  TABLE_REPORT_SPACES,
  TABLE_REPORT_ROWS,
  TABLE_REPORT_TABLES,
  TABLE_SECTIONS,
  TABLE_UNKNOWN_LINES,
  TABLE_OTHER_MODULES,
  TABLE_COUNT,
};

// One letter for each column: `n` for numbers that the dump prints, `.` for offsets, rows and counts.
static const char *const LAYOUTS[TABLE_COUNT] = {
  [TABLE_ALLOCATIONS] = "....nnn.n.....",
  [TABLE_SLICES] = "...n..n..nn.",
  [TABLE_USED_VALUES] = "......n..n..",
  [TABLE_POSITIONS] = ".....",
  [TABLE_USES] = "....n.",
  [TABLE_SCHEDULE] = "..n..",
  [TABLE_LIVE_RANGES] = ".....nn",
  [TABLE_PEAKS] = "....n",
  [TABLE_PEAK_BUFFERS] = ".....nn",
  [TABLE_STACK_TRACE_HEADERS] = "..n",
  [TABLE_STACK_TRACES] = ".....nnn",
  [TABLE_TOTALS] = "..n..",
  [TABLE_OTHER_COLOR_VALUES] = "..n",
  [TABLE_LIVE_RANGE_HEADERS] = "..n",
  [TABLE_REPORT_ALLOCATIONS] = "..n.",
  [TABLE_REPORT_SPACES] = "....nn..",
  [TABLE_REPORT_ROWS] = "..nnn.n.",
  [TABLE_REPORT_TABLES] = "..nn...n",
  [TABLE_SECTIONS] = "...",
  [TABLE_UNKNOWN_LINES] = "..",
  [TABLE_OTHER_MODULES] = "....",
};

_Static_assert(MAX_WIDTH >= 14, "column.h has room for fewer columns than a table has");

// The columns of the tables whose rows are added by hand.
enum {
  ALLOCATIONS_START = 0, ALLOCATIONS_END, ALLOCATIONS_FIRST_SLICE, ALLOCATIONS_SLICE_COUNT, ALLOCATIONS_INDEX,
  ALLOCATIONS_SIZE_BYTES, ALLOCATIONS_COLOR, ALLOCATIONS_KIND, ALLOCATIONS_PARAMETER, ALLOCATIONS_PARAMETER_INDEX,
  ALLOCATIONS_PARAMETER_SHAPE_START, ALLOCATIONS_PARAMETER_SHAPE_END, ALLOCATIONS_OUTPUT_SHAPE_START,
  ALLOCATIONS_OUTPUT_SHAPE_END,
  USED_VALUES_START = 0, USED_VALUES_END, USED_VALUES_FIRST_POSITION, USED_VALUES_POSITION_COUNT,
  USED_VALUES_FIRST_USE, USED_VALUES_USE_COUNT, USED_VALUES_ID, USED_VALUES_NAME, USED_VALUES_INDEX,
  USED_VALUES_COLOR, USED_VALUES_INSTRUCTION_START, USED_VALUES_INSTRUCTION_END,
  PEAKS_START = 0, PEAKS_END, PEAKS_FIRST_BUFFER, PEAKS_BUFFER_COUNT, PEAKS_STEP,
  STACK_TRACES_START = 0, STACK_TRACES_END, STACK_TRACES_DEPTH, STACK_TRACES_NAME_START, STACK_TRACES_NAME_END,
  STACK_TRACES_TOTAL_BYTES, STACK_TRACES_CURRENT_BYTES, STACK_TRACES_REMAINING_BYTES,
  REPORT_ALLOCATIONS_START = 0, REPORT_ALLOCATIONS_END, REPORT_ALLOCATIONS_INDEX, REPORT_ALLOCATIONS_CUMULATIVE_START,
  REPORT_TABLES_START = 0, REPORT_TABLES_END, REPORT_TABLES_INDEX, REPORT_TABLES_COLOR, REPORT_TABLES_TABLE,
  REPORT_TABLES_FIRST_ROW, REPORT_TABLES_ROW_COUNT, REPORT_TABLES_REST,
  SECTIONS_START = 0, SECTIONS_END, SECTIONS_SECTION,
  UNKNOWN_LINES_START = 0, UNKNOWN_LINES_END,
  OTHER_MODULES_START = 0, OTHER_MODULES_END, OTHER_MODULES_NAME_START, OTHER_MODULES_NAME_END,
};

// The parts of the lines that are read by hand.
enum {
  PART_ALLOCATION_INDEX = 0, PART_ALLOCATION_SIZE_BYTES = 2, PART_ALLOCATION_ATTRIBUTES = 3,
  PART_REPORT_ALLOCATION_INDEX = 0, PART_REPORT_ALLOCATION_ATTRIBUTES = 3,
  PART_USED_VALUE_ID = 0, PART_USED_VALUE_NAME = 1, PART_USED_VALUE_INDEX = 2, PART_USED_VALUE_COLOR = 3,
  PART_MEMORY_SPACE_COLOR = 1,
  PART_BEGIN_FILE_NAME = 0,
  PART_PEAK_STEP = 0,
  PART_BY_SIZE_ROW_CUMULATIVE = 0, PART_BY_SIZE_ROW_INDEX = 3, PART_BY_SIZE_ROW_ATTRIBUTES = 6,
  PART_REST_COUNT = 0,
  PART_PARAMETER_NUMBER = 0, PART_PARAMETER_SHAPE = 1, PART_PARAMETER_INDEX = 2,
  PART_OUTPUT_SHAPE = 0,
  PART_COLOR_NUMBER = 0,
};

// For each header of a section, 1 more than its number in `DumpSection`.
static const uint8_t SECTIONS[ERROR_SENTINEL + 1] = {
  [BUFFER_ASSIGNMENT] = 1,
  [USED_VALUES] = 2,
  [LIVE_RANGES] = 3,
  [NO_LIVE_RANGES] = 3,
  [BY_SIZE] = 8,
  [WITH_VALUES] = 8,
  [MEMORY_SPACE] = 8,
  [INSTRUCTION_SEQUENCE] = 4,
  [BUFFER_LIVE_RANGES] = 5,
  [PEAK] = 6,
  [STACK_TRACES] = 7,
};

// The kinds of lines whose last token extends to the end of the line, including trailing blanks.
#define ENDS_WITH_BLANKS \
  (BIT(NO_LIVE_RANGES) | BIT(SLICE) | BIT(NO_PEAK) | BIT(TABLE_ROW) | BIT(BY_SIZE_COLUMNS) | BIT(TABLE_COLUMNS) | \
   BIT(REST) | BIT(FIELD))

// The cases of a switch over the kinds of lines that add one row each.
#define ROW_CASES \
  case TOTAL: \
    ADD(reader, TABLE_TOTALS, start, end, integer_of(parts[0]), start_of(reader, parts[1]), end_of(reader, \
        parts[1])); \
    break; \
  case LIVE_RANGES: \
    ADD(reader, TABLE_LIVE_RANGE_HEADERS, start, end, integer_of(parts[0])); \
    break; \
  case NO_LIVE_RANGES: \
    ADD(reader, TABLE_LIVE_RANGE_HEADERS, start, end, NONE); \
    break; \
  case MEMORY_SPACE_TOTAL: \
    ADD(reader, TABLE_REPORT_SPACES, start, end, reader->space_start, reader->space_end, reader->space, \
        integer_of(parts[0]), start_of(reader, parts[1]), end_of(reader, parts[1])); \
    break; \
  case SLICE: \
    ADD(reader, TABLE_SLICES, start, end, reader->allocation, integer_of(parts[0]), name_number(reader, \
        parts[1]), index_number(reader, parts[2]), integer_of(parts[3]), offset_of(reader, parts[0].at) - 1, \
        offset_of(reader, parts[4].at) - 7, integer_of(parts[4]), integer_of(parts[5]), start_of(reader, parts[6])); \
    break; \
  case OTHER_COLOR_VALUE: \
    ADD(reader, TABLE_OTHER_COLOR_VALUES, start, end, integer_of(parts[0])); \
    break; \
  case STACK_TRACES: \
    ADD(reader, TABLE_STACK_TRACE_HEADERS, start, end, integer_of(parts[0])); \
    break; \
  case USE: \
    ADD(reader, TABLE_USES, start, end, reader->used_value, name_number(reader, parts[0]), integer_of(parts[1]), \
        index_number(reader, parts[2])); \
    break; \
  case POSITION: \
    ADD(reader, TABLE_POSITIONS, start, end, reader->used_value, name_number(reader, parts[0]), \
        index_number(reader, parts[1])); \
    break; \
  case SCHEDULED_INSTRUCTION: \
    ADD(reader, TABLE_SCHEDULE, start, end, integer_of(parts[0]), name_number(reader, parts[1]), \
        start_of(reader, parts[1])); \
    break; \
  case LIVE_RANGE: \
    ADD(reader, TABLE_LIVE_RANGES, start, end, name_number(reader, parts[0]), index_number(reader, parts[1]), \
        end_of(reader, parts[1]), integer_of(parts[2]), integer_of(parts[3])); \
    break; \
  case PEAK_BUFFER: \
    ADD(reader, TABLE_PEAK_BUFFERS, start, end, name_number(reader, parts[0]), index_number(reader, parts[1]), \
        offset_of(reader, parts[2].at) - 2, integer_of(parts[2]), integer_of(parts[3])); \
    break; \
  case TABLE_ROW: \
    ADD(reader, TABLE_REPORT_ROWS, start, end, integer_of(parts[3]), reader->report_allocation, reader->space, \
        reader->report_tables, integer_of(parts[4]), start_of(reader, parts[5])); \
    break;

#endif
