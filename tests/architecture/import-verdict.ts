import { COMPUTED, type Edge, environmentReaders, findCycles, readEdges, type Sources } from './import-graph'
import { MAY_READ_ENVIRONMENT, type Rule, SELF } from './import-rules'

const EDGE_WORDS = { value: 'import', type: 'import type', worker: 'worker or URL' }

/** Every breach, one line each: the file, the edge, the rule. Empty when all is well. */
export function breaches(sources: Sources, rules: readonly Rule[], exists?: (path: string) => boolean): string[] {
  const edges = readEdges(sources, exists)
  return [
    ...edges.flatMap((edge) => breachOf(edge, rules) ?? []),
    ...findCycles(edges).map((cycle) => `${cycle[0]}: ${cycle.join(' -> ')}: a cycle; nothing may reach itself`),
    ...environmentReaders(sources)
      .filter((path) => !matches(MAY_READ_ENVIRONMENT, path))
      .map((path) => `${path}: reads the environment; only ${MAY_READ_ENVIRONMENT.join(', ')} may`),
  ]
}

function breachOf(edge: Edge, rules: readonly Rule[]): string | null {
  const what = `${edge.from}: ${EDGE_WORDS[edge.kind]} '${edge.specifier}'`
  if (edge.file === COMPUTED) return `${what}: a computed import cannot be judged, so it is not allowed`
  const rule = rules.find(({ files }) => matches(files, edge.from))
  if (rule === undefined) return `${what}: no row of import-rules.ts names this file, so it may import nothing`
  const allowed = edge.file === null ? mayPackage(edge, rule) : mayFile(edge, edge.file, rule)
  return allowed ? null : `${what}${edge.file === null ? '' : ` = ${edge.file}`}: ${inWords(rule)}`
}

function mayFile(edge: Edge, file: string, rule: Rule): boolean {
  const within = (patterns: readonly string[]) => matches(patterns, file)
  const may = rule.may ?? []
  if (may.includes(SELF) && within([selfOf(rule, edge.from)])) return true
  return within(may) || (edge.kind === 'type' && within(rule.types ?? []))
}

function mayPackage(edge: Edge, rule: Rule): boolean {
  const named = (names: readonly string[]) =>
    names.some((name) => name === edge.package || (name === 'node:*' && edge.package?.startsWith('node:') === true))
  return named(rule.packages ?? [])
}

/** The folder that the row's pattern caught: of `features/*` + `/**` and features/keys/a.tsx it is `features/keys/**`. */
function selfOf(rule: Rule, from: string): string {
  const pattern = rule.files.find((candidate) => matches([candidate], from)) ?? ''
  if (!pattern.endsWith('/**')) return pattern
  const depth = pattern.split('/').length - 1
  return `${from.split('/').slice(0, depth).join('/')}/**`
}

function matches(patterns: readonly string[], path: string): boolean {
  return patterns.some((pattern) => new Bun.Glob(pattern).match(path))
}

function inWords({ files, may = [], types = [], packages = [] }: Rule): string {
  const list = (words: readonly string[]) => (words.length === 0 ? 'nothing' : words.join(', '))
  return `${list(files)} may import ${list([...may, ...packages])}; and the types of ${list(types)}`
}
