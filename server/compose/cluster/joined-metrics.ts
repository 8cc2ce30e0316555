/** The metrics of one cell's gateway, in Prometheus' text format. */
interface CellMetrics {
  readonly cell: string
  readonly text: string
}

/** The metrics of several gateways as one text. Each sample names its cell, and the samples of a metric are consecutive, as the format requires. */
export function joinedMetrics(gateways: readonly CellMetrics[]): string {
  const families = new Map<string, { readonly about: Set<string>; readonly samples: string[] }>()
  for (const { cell, text } of gateways) {
    let name = ''
    for (const line of text.split('\n')) {
      if (line === '') continue
      const isAbout = line.startsWith('# ')
      if (isAbout) name = line.split(' ')[2] ?? ''
      const family = families.get(name) ?? { about: new Set(), samples: [] }
      families.set(name, family)
      if (isAbout) family.about.add(line)
      else family.samples.push(labelled(line, cell))
    }
  }
  return [...families.values()].flatMap(({ about, samples }) => [...about, ...samples, '']).join('\n')
}

/** The value of a label may contain braces and spaces; a metric's name contains neither. */
function labelled(sample: string, cell: string): string {
  const end = sample.search(/[{ ]/)
  const rest = sample.slice(end)
  return `${sample.slice(0, end)}{cell="${cell}"${rest.startsWith('{') ? `,${rest.slice(1)}` : `}${rest}`}`
}
