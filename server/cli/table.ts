import { printable } from '../core/plain-text'

/** Columns as wide as their widest cell, two spaces apart; numbers at the right. A cell is one line, so that no value forges a row. */
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
