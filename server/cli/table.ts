import { printable } from '../core/plain-text'

/** Formats a table. Numbers are right-aligned. Every cell is a single line, so that no value can imitate a row. */
export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const lines = [head, ...rows].map((line) =>
    line.map((cell) => (typeof cell === 'number' ? cell : printable(cell).replaceAll(/\s+/g, ' '))),
  )
  const widths = head.map((_, i) => Math.max(...lines.map((line) => String(line[i] ?? '').length)))
  return lines
    .map((line) =>
      line
        .map((cell, i) => {
          const width = widths[i] ?? 0
          return typeof cell === 'number' ? String(cell).padStart(width) : cell.padEnd(width)
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
    .concat('\n')
}
