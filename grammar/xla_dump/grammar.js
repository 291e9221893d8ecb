/**
 * @file The text dumps of XLA's buffer assignment: `*-buffer-assignment.txt`, `*-buffer-assignment-values.txt`,
 *   `*-live-range.txt` and `*-memory-usage-report.txt`, of every release since 2020.
 * @license Apache-2.0
 *
 * The format is line-based, and so is this grammar. The external scanner (src/scanner.c) reads one whole line and emits
 * a zero-width token for its kind. Only a line that is well-formed to its end gets a kind, and the rules below then name
 * its parts; any other line is one `unknown_line`. A bad line therefore never affects its neighbors, and there are no
 * ERROR nodes: lines in any order form a `source_file`.
 *
 * A row belongs to the nearest section that can hold it. If the header of that section is missing, the row stands on
 * its own in the surrounding section.
 *
 * The HLO text after `from instruction:` and the shapes are opaque here. The grammar `hlo` parses them.
 */

/// <reference types="tree-sitter-cli/dsl" />
// @ts-check

/** A header with the rows below it. Rows join the innermost section, because shift takes precedence over reduce. */
const section = (/** @type {RuleOrLiteral[]} */ header, /** @type {RuleOrLiteral[]} */ ...rows) =>
  prec.right(seq(...header, repeat(choice(...rows))));

export default grammar({
  name: 'xla_dump',

  // The scanner has already checked line ends and indentation.
  extras: _ => [/\s/],

  // The kinds of lines come first. generate.py writes src/kinds.h from them and from the sections below, and lines.py describes them.
  externals: $ => [
    $._buffer_assignment_line,
    $._allocation_line,
    $._slice_line,
    $._other_colors_line,
    $._other_color_value_line,
    $._total_line,
    $._used_values_line,
    $._used_value_line,
    $._positions_line,
    $._position_line,
    $._uses_line,
    $._use_line,
    $._no_uses_line,
    $._from_instruction_line,
    $._live_ranges_line,
    $._no_live_ranges_line,
    $._instruction_sequence_line,
    $._scheduled_instruction_line,
    $._buffer_live_ranges_line,
    $._live_range_line,
    $._peak_line,
    $._peak_buffer_line,
    $._no_peak_line,
    $._stack_traces_line,
    $._stack_trace_root_line,
    $._stack_trace_line,
    $._by_size_line,
    $._by_size_columns_line,
    $._by_size_row_line,
    $._with_values_line,
    $._report_allocation_line,
    $._table_columns_line,
    $._rule_line,
    $._table_row_line,
    $._rest_line,
    $._memory_space_line,
    $._memory_space_total_line,
    $._message_line,
    $._field_line,
    $._message_end_line,
    $._begin_file_line,
    $._begin_other_file_line,
    $._end_file_line,
    $._broken_allocation,
    $._broken_used_value,
    $.unknown_line,
    // Parts of lines.
    $.unknown_attribute,
    $.instruction,
    $.branch,
    $._frame_name,
    $.other_text,
    $._foreign_line,
    $._error_sentinel,
  ],

  // Inlined to save the memory of their nodes.
  inline: $ => [
    $._assignment_row, $._used_values_row, $._used_value_row, $._live_ranges_row, $._report_row,
    $._attribute, $._by_size_columns, $._rule, $._message_end, $._unknown,
  ],

  rules: {
    source_file: $ => repeat(choice(
      $.buffer_assignment, $._assignment_row,
      $.total,
      $.used_values, $._used_values_row,
      $.live_ranges, $._live_ranges_row,
      $.allocations_by_size, $.allocations_with_values, $.memory_space, $._report_row,
      $.message, $.field, $._message_end,
      $.file_marker, $.other_file,
      $._unknown,
    )),

    // A line of another section does not end the one around it if that continues below.
    _unknown: $ => choice($.unknown_line, seq($._foreign_line, $.unknown_line)),

    // BufferAssignment::ToString: the allocations and the values assigned to them.
    buffer_assignment: $ => section(
      [$._buffer_assignment_line, 'BufferAssignment:'],
      $._assignment_row, $._unknown,
    ),
    _assignment_row: $ => choice($.allocation, $.slice, $.other_colors, $.other_color_value),

    // BufferAllocation::ToString. Rows below an unreadable header belong to it, not to the allocation before.
    allocation: $ => section(
      [choice(
        seq($._allocation_line, field('header', $.allocation_header)),
        alias($._broken_allocation, $.unknown_line),
      )],
      $.slice, $.other_colors, $._unknown,
    ),
    allocation_header: $ => seq(
      'allocation', field('index', alias($.integer, $.allocation_index)), ':',
      optional(seq(field('address', $.address), ',')),
      'size', field('size', $.integer),
      repeat(seq(',', $._attribute)),
      ':',
    ),
    _attribute: $ => choice(
      seq('color', field('color', $.integer)),
      seq('page', field('page', $.integer)),
      $.parameter,
      seq('output shape is', '|', field('output_shape', alias($._quoted_shape, $.shape)), '|'),
      field('kind', alias(choice('constant', 'thread-local', 'maybe-live-out', 'preallocated-temp'), $.kind)),
      $.unknown_attribute,
    ),
    parameter: $ => seq(
      'parameter', field('number', $.integer),
      optional(seq(',', 'shape', '|', field('shape', alias($._quoted_shape, $.shape)), '|')),
      'at ShapeIndex', field('index', $.index),
    ),

    // BufferAllocation::OffsetSize of one value.
    slice: $ => seq(
      $._slice_line, 'value:', field('value', $.value),
      '(size=', field('size', $.integer), ',offset=', field('offset', $.integer), '):',
      field('shape', $.shape),
    ),
    other_colors: $ => section(
      [$._other_colors_line, 'reused by buffers of a different color:'],
      $.other_color_value, $._unknown,
    ),
    other_color_value: $ => seq(
      $._other_color_value_line, 'value:', field('value', $.value), '(color=', field('color', $.integer), ')',
    ),

    // HloValue::ToShortString.
    value: $ => seq(
      '<', field('id', alias($.integer, $.value_id)),
      field('name', $.name), field('index', optional($.index)),
      optional($.phi), optional(seq('@', field('color', $.integer))),
      '>',
    ),
    phi: _ => '(phi)',

    total: $ => seq(
      $._total_line, 'Total bytes used:', field('size', $.integer),
      optional(seq('(', field('human_size', $.human_size), ')')),
    ),

    // HloDataflowAnalysis: the positions, uses and instruction of each value.
    used_values: $ => section(
      [$._used_values_line, 'Used values:'],
      $._used_values_row, $._unknown,
    ),
    _used_values_row: $ => choice($.used_value, $._used_value_row),
    used_value: $ => section(
      [choice(
        seq($._used_value_line, field('value', $.value)),
        alias($._broken_used_value, $.unknown_line),
      )],
      $._used_value_row, $._unknown,
    ),
    _used_value_row: $ => choice(
      seq($._positions_line, 'positions:'),
      $.position,
      seq($._uses_line, 'uses:'),
      $.use,
      seq($._no_uses_line, '(none)'),
      $.from_instruction,
    ),
    position: $ => seq($._position_line, field('name', $.name), field('index', optional($.index))),
    use: $ => seq(
      $._use_line, field('name', $.name), ', operand', field('operand', $.integer), field('index', optional($.index)),
    ),
    from_instruction: $ => seq($._from_instruction_line, 'from instruction:', field('instruction', optional($.instruction))),

    // HloLiveRange::ToString.
    live_ranges: $ => section(
      [choice(
        seq($._live_ranges_line, 'HloLiveRange', '(max', field('max', $.integer), '):'),
        seq($._no_live_ranges_line, alias(/HloLiveRange not available[^\r\n]*/, $.unavailable)),
      )],
      $._live_ranges_row, $._unknown,
    ),
    _live_ranges_row: $ => choice(
      $.instruction_sequence, $.scheduled_instruction,
      $.buffer_live_ranges, $.live_range,
      $.peak, $.peak_buffer,
      seq($._no_peak_line, alias(/Peak memory could not be determined[^\r\n]*/, $.unavailable)),
      $.stack_traces, $.stack_trace,
    ),
    instruction_sequence: $ => section(
      [$._instruction_sequence_line, 'InstructionSequence:'],
      $.scheduled_instruction, $._unknown,
    ),
    scheduled_instruction: $ => seq(
      $._scheduled_instruction_line, field('step', alias($.integer, $.step)), ':', field('name', $.name),
    ),
    buffer_live_ranges: $ => section(
      [$._buffer_live_ranges_line, 'BufferLiveRange:'],
      $.live_range, $._unknown,
    ),
    live_range: $ => seq(
      $._live_range_line, field('name', $.name), field('index', $.index),
      ':', field('start', alias($.integer, $.step)), '-', field('end', alias($.integer, $.step)),
    ),
    peak: $ => section(
      [$._peak_line, 'Live ranges at', field('step', alias($.integer, $.step)), '(peak):'],
      $.peak_buffer, $._unknown,
    ),
    peak_buffer: $ => seq(
      $._peak_buffer_line, field('name', $.name), field('index', optional($.index)),
      ':', field('size', $.integer), 'bytes',
      optional(seq('(cumulative:', field('cumulative', $.integer), 'bytes', ')')),
    ),

    // HloStackTrace: the peak by source, as a tree of frames.
    stack_traces: $ => section(
      [$._stack_traces_line, 'Stack trace breakdown for peak usage:', field('size', $.grouped_integer), 'bytes'],
      $.stack_trace, $._unknown,
    ),
    stack_trace: $ => seq(
      choice($._stack_trace_root_line, seq($._stack_trace_line, field('branch', $.branch))),
      choice(
        seq(
          field('name', alias($._frame_name, $.frame_name)),
          '(', field('percent', $.percent), '%',
          repeat(seq(',', choice(
            seq(optional('total:'), field('total', $.grouped_integer), 'bytes'),
            seq('current:', field('current', $.grouped_integer), 'bytes'),
            seq('remaining:', field('remaining', $.grouped_integer), 'bytes'),
          ))),
          ')',
        ),
        $.unknown_line,
      ),
    ),

    // BufferAssignment::MemoryUsageReport, up to 2026-03: two lists of allocations.
    allocations_by_size: $ => section(
      [$._by_size_line, 'Allocations sorted by size:'],
      $._by_size_columns, $._rule, $.sized_allocation, $.rest, $._unknown,
    ),
    _by_size_columns: $ => seq($._by_size_columns_line, alias(/cumulative_size; total_size[^\r\n]*/, $.columns)),
    _rule: $ => seq($._rule_line, alias(/-+/, $.rule)),
    sized_allocation: $ => seq(
      $._by_size_row_line,
      field('cumulative', $.human_size), '(', field('percent', $.percent), '%)', ';',
      field('remaining', $.human_size), ';',
      field('header', alias($._report_header, $.allocation_header)),
    ),
    allocations_with_values: $ => section(
      [$._with_values_line, 'Allocations sorted by size with their values:'],
      $.report_allocation, $.table, $.table_row, $.rest, $._rule, $._unknown,
    ),
    report_allocation: $ => section(
      [$._report_allocation_line, field('header', alias($._report_header, $.allocation_header))],
      $.table, $._unknown,
    ),
    _report_header: $ => seq(
      'allocation', field('index', alias($.integer, $.allocation_index)), ':',
      optional(seq(field('address', $.address), ',')),
      'size', field('size', $.human_size),
      repeat(seq(',', $._attribute)),
      ':',
    ),

    // BufferAssignment::MemoryUsageReport since then: one section per memory space.
    memory_space: $ => section(
      [
        $._memory_space_line, 'Memory Space:', field('name', alias(/[^()\r\n]*[^()\s]/, $.space_name)),
        '(color=', field('color', $.integer), ')',
      ],
      $.memory_space_total, $.table, $.table_row, $.rest, $._rule, $._unknown,
    ),
    memory_space_total: $ => seq(
      $._memory_space_total_line, 'Total bytes:', field('size', $.integer),
      optional(seq('(', field('human_size', $.human_size), ')')),
    ),
    table: $ => section(
      [$._table_columns_line, alias(/cumulative_size;\s*size;[^\r\n]*/, $.columns)],
      $._rule, $.table_row, $.rest, $._unknown,
    ),
    table_row: $ => seq(
      $._table_row_line,
      field('cumulative', $.human_size), '(', field('percent', $.percent), '%)', ';',
      field('size', $.human_size), ';',
      field('offset', $.integer), ';',
      field('values', $.integer), ';',
      field('shapes', alias($._shape_list, $.shapes)),
    ),
    rest: $ => seq(
      $._rest_line, 'The rest', field('count', $.integer), alias(/(allocations|values) are less than[^\r\n]*/, $.columns),
    ),
    _report_row: $ => choice(
      $._by_size_columns, $._rule, $.sized_allocation, $.rest,
      $.report_allocation, $.table, $.table_row, $.memory_space_total,
    ),

    // The report as protobuf text, as one source snapshot of 2026 printed it.
    message: $ => prec.right(seq(
      $._message_line, field('name', alias($._key, $.name)), '{',
      repeat(choice($.message, $.field, $._unknown)),
      optional($._message_end),
    )),
    field: $ => seq($._field_line, field('name', alias($._key, $.name)), ':', field('value', alias(/[^\s][^\r\n]*/, $.scalar))),
    _message_end: $ => seq($._message_end_line, '}'),

    // With `--xla_dump_to=-` XLA frames each file on standard output.
    file_marker: $ => choice(
      seq($._begin_file_line, '*** Begin', field('begin', alias($._filename, $.filename)), '***'),
      seq($._end_file_line, '*** End', field('end', alias($._filename, $.filename)), '***'),
    ),
    // Files that are no part of a dump set: HLO modules, LLVM IR, options.
    other_file: $ => seq(
      $._begin_other_file_line, '*** Begin', field('begin', alias($._filename, $.filename)), '***',
      $.other_text,
    ),

    name: _ => /[^\s{}(),:<>@"|;=%]+/,
    index: _ => /\{[0-9,]*\}/,
    integer: _ => /-?[0-9]+/,
    grouped_integer: _ => /-?[0-9]+( [0-9]{3})*/,
    address: _ => /0x[0-9a-fA-F]+/,
    percent: _ => /-?([0-9]+(\.[0-9]+)?|nan|inf)/,
    human_size: _ => /-?[0-9]+(\.[0-9]+)?([KMGTPE]i)?B/,
    shape: _ => /[^\s][^\r\n]*/,
    _quoted_shape: _ => /[^|\r\n]+/,
    _shape_list: _ => /[^\s][^\r\n]*/,
    _filename: _ => /[^\s*]+/,
    _key: _ => /[a-z_]+/,
  },
});
