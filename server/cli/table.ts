/** Columns as wide as their widest cell, two spaces apart; numbers stand at the right. */
export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const lines = [head, ...rows]
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
