// Generated from lines.py by generate.py. Do not edit.

#ifndef XLA_DUMP_LINES_H
#define XLA_DUMP_LINES_H

// The header of a value. The macros of its parts are in scanner.c.
#define VALUE "<" DIGITS " " NAME OPTIONAL(INDEX) OPTIONAL(" " "(phi)") OPTIONAL(" @" DIGITS) ">"

// The indentation, kind and pattern of each line. The first match of a whole line determines its kind.
#define LINE_PATTERNS \
  {0, BUFFER_ASSIGNMENT, "BufferAssignment:"}, \
  {0, ALLOCATION, "allocation " DIGITS ": " OPTIONAL(ADDRESS ", ") "size " INTEGER ATTRIBUTES ":"}, \
  {0, REPORT_ALLOCATION, "allocation " DIGITS ": " OPTIONAL(ADDRESS ", ") "size " SIZE ATTRIBUTES ":"}, \
  {0, TOTAL, "Total bytes used: " INTEGER OPTIONAL(" (" SIZE ")")}, \
  {0, USED_VALUES, "Used values:"}, \
  {0, USED_VALUE, "<" DIGITS " " NAME OPTIONAL(INDEX) OPTIONAL(" " "(phi)") OPTIONAL(" @" DIGITS) ">"}, \
  {0, LIVE_RANGES, "HloLiveRange (max " INTEGER "):"}, \
  {0, NO_LIVE_RANGES, "HloLiveRange not available" TAIL}, \
  {0, BY_SIZE, "Allocations sorted by size:"}, \
  {0, WITH_VALUES, "Allocations sorted by size with their values:"}, \
  {0, MEMORY_SPACE, "Memory Space: " SPACE_NAME "(color=" INTEGER ")"}, \
  {0, MEMORY_SPACE_TOTAL, "Total bytes: " INTEGER OPTIONAL(" (" SIZE ")")}, \
  {0, BEGIN_FILE, "*** Begin " DUMP_NAME " ***"}, \
  {0, BEGIN_OTHER_FILE, "*** Begin " FILE_NAME " ***"}, \
  {0, END_FILE, "*** End " FILE_NAME " ***"}, \
  {1, SLICE, "value: " "<" DIGITS " " NAME OPTIONAL(INDEX) OPTIONAL(" " "(phi)") OPTIONAL(" @" DIGITS) ">" " (size=" INTEGER ",offset=" INTEGER "): " SHAPE}, \
  {1, OTHER_COLORS, "reused by buffers of a different color:"}, \
  {1, POSITIONS, "positions:"}, \
  {1, USES, "uses:"}, \
  {2, OTHER_COLOR_VALUE, "value: <" DIGITS " " NAME OPTIONAL(INDEX) OPTIONAL(" " "(phi)") OPTIONAL(" @" DIGITS) "> (color=" DIGITS ")"}, \
  {2, NO_USES, "(none)"}, \
  {2, INSTRUCTION_SEQUENCE, "InstructionSequence:"}, \
  {2, BUFFER_LIVE_RANGES, "BufferLiveRange:"}, \
  {2, PEAK, "Live ranges at " INTEGER " (peak):"}, \
  {2, NO_PEAK, "Peak memory could not be determined" TAIL}, \
  {2, STACK_TRACES, "Stack trace breakdown for peak usage: " GROUPED " bytes"}, \
  {ANY_INDENT, RULE, "----------" DASHES}, \
  {2, USE, NAME ", operand " DIGITS OPTIONAL(" " INDEX)}, \
  {2, POSITION, NAME OPTIONAL(" " INDEX)}, \
  {4, SCHEDULED_INSTRUCTION, DIGITS ":" NAME}, \
  {4, LIVE_RANGE, NAME INDEX ":" INTEGER "-" INTEGER}, \
  {4, PEAK_BUFFER, NAME OPTIONAL(INDEX) ": " INTEGER " bytes" OPTIONAL(" (cumulative: " INTEGER " bytes)")}, \
  {ANY_INDENT, TABLE_ROW, SIZE "(" BLANKS NUMBER "%);" BLANKS SIZE ";" BLANKS INTEGER ";" BLANKS INTEGER "; " SHAPE}, \
  {ANY_INDENT, BY_SIZE_ROW, SIZE "(" BLANKS NUMBER "%);" BLANKS SIZE "; allocation " DIGITS ": " OPTIONAL(ADDRESS ", ") "size " SIZE ATTRIBUTES ":"}, \
  {ANY_INDENT, BY_SIZE_COLUMNS, "cumulative_size; total_size - cumulative_size; allocation" BLANKS}, \
  {ANY_INDENT, TABLE_COLUMNS, "cumulative_size;" BLANKS "size;" BLANKS "offset; used_by_n_values; shapes_list" BLANKS}, \
  {ANY_INDENT, REST, "The rest " DIGITS " allocations are less than " TAIL}, \
  {ANY_INDENT, REST, "The rest " DIGITS " values are less than " TAIL}, \
  {ANY_INDENT, MESSAGE, KEY " {"}, \
  {ANY_INDENT, FIELD, KEY ": " TAIL}, \
  {ANY_INDENT, MESSAGE_END, "}"}

// The most parts that a pattern has.
enum { MAX_PARTS = 7 };

// The attributes of an allocation, and the numbers of some.
#define ATTRIBUTES_OF_ALLOCATIONS \
  "constant", \
  "thread-local", \
  "maybe-live-out", \
  "preallocated-temp", \
  "parameter " DIGITS OPTIONAL(", shape |" QUOTED "|") " at ShapeIndex " INDEX, \
  "output shape is |" QUOTED "|", \
  "color " DIGITS, \
  "page " DIGITS

enum { PARAMETER = 4, OUTPUT = 5, COLOR = 6 };

// The group of each kind of line, numbered in the order in which XLA prints them.
#define GROUPS_OF_KINDS \
  [BUFFER_ASSIGNMENT] = 1, \
  [ALLOCATION] = 1, \
  [REPORT_ALLOCATION] = 9, \
  [TOTAL] = 2, \
  [USED_VALUES] = 3, \
  [USED_VALUE] = 3, \
  [LIVE_RANGES] = 4, \
  [NO_LIVE_RANGES] = 4, \
  [BY_SIZE] = 9, \
  [WITH_VALUES] = 9, \
  [MEMORY_SPACE] = 9, \
  [MEMORY_SPACE_TOTAL] = 9, \
  [SLICE] = 1, \
  [OTHER_COLORS] = 1, \
  [POSITIONS] = 3, \
  [USES] = 3, \
  [OTHER_COLOR_VALUE] = 1, \
  [NO_USES] = 3, \
  [INSTRUCTION_SEQUENCE] = 5, \
  [BUFFER_LIVE_RANGES] = 6, \
  [PEAK] = 7, \
  [NO_PEAK] = 7, \
  [STACK_TRACES] = 8, \
  [RULE] = 9, \
  [USE] = 3, \
  [POSITION] = 3, \
  [SCHEDULED_INSTRUCTION] = 5, \
  [LIVE_RANGE] = 6, \
  [PEAK_BUFFER] = 7, \
  [TABLE_ROW] = 9, \
  [BY_SIZE_ROW] = 9, \
  [BY_SIZE_COLUMNS] = 9, \
  [TABLE_COLUMNS] = 9, \
  [REST] = 9, \
  [MESSAGE] = 10, \
  [FIELD] = 10, \
  [MESSAGE_END] = 10, \
  [FROM_INSTRUCTION] = 3, \
  [STACK_TRACE_ROOT] = 8, \
  [STACK_TRACE] = 8, \
  [BROKEN_ALLOCATION] = 1, \
  [BROKEN_USED_VALUE] = 3

// The lines that are the first ones of a section, and may be its only ones.
#define HEADER_KINDS \
  (BIT(BUFFER_ASSIGNMENT) | BIT(TOTAL) | BIT(USED_VALUES) | BIT(LIVE_RANGES) | BIT(NO_LIVE_RANGES) | BIT(BY_SIZE) \
   | BIT(WITH_VALUES) | BIT(MEMORY_SPACE) | BIT(INSTRUCTION_SEQUENCE) | BIT(BUFFER_LIVE_RANGES) | BIT(PEAK) | \
   BIT(NO_PEAK) | BIT(STACK_TRACES))

#endif
