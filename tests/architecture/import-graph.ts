import { existsSync, readFileSync } from 'node:fs'
import { dirname, extname, join, normalize } from 'node:path'

/** One import, export-from, dynamic import, require or worker of one file. */
export interface Edge {
  readonly from: string
  /** As it is written in the file. */
  readonly specifier: string
  /** The file or asset it means, from the root of the repository; null for a package. */
  readonly file: string | null
  /** The package it means, without a sub-path; null for a file. */
  readonly package: string | null
  /** `type` vanishes at run time; `worker` starts another program, so it closes no cycle. */
  readonly kind: 'value' | 'type' | 'worker'
}

/** Path from the repository's root -> source. */
export type Sources = ReadonlyMap<string, string>

/** An import whose target is computed at run time: it cannot be judged, so no rule allows it. */
export const COMPUTED = '<computed>'

const transpilers = { ts: new Bun.Transpiler({ loader: 'ts' }), tsx: new Bun.Transpiler({ loader: 'tsx' }) }

// Bun's scanner leaves type-only imports out, so the text is read as well. What only the text shows is type-only.
const STATEMENT = /(?:^|;)[ \t]*(?:import|export)\b(?:[^'"`;=]*?\bfrom)?\s*(['"])([^'"\n]+)\1/gm
const IMPORT_CALL = /\bimport\s*\(\s*(['"])([^'"\n]+)\1\s*[,)]/g
const COMPUTED_CALL = /\b(?:import|require)\s*\(\s*(?!['"\s])/
const FILE_URL = /new\s+URL\(\s*(['"])([^'"\n]+)\1\s*,\s*import\.meta\.(?:url|href)\s*,?\s*\)/g
const COMMENT_LINE = /^[ \t]*(?:\/\/|\*|\/\*).*$/gm
const ENVIRONMENT =
  /\bprocess\s*(?:\?\.|\.)\s*env\b|\bprocess\s*\[|\bBun\s*\.\s*env\b|\benv\b[^=\n]*\}\s*=\s*(?:process|Bun)\b/

/** Every .ts and .tsx file below the folders. */
export function readSources(root: string, folders: readonly string[]): Sources {
  const sources = new Map<string, string>()
  for (const folder of folders) {
    if (!existsSync(join(root, folder))) continue
    for (const path of new Bun.Glob(`${folder}/**/*.{ts,tsx,mts,cts}`).scanSync({ cwd: root })) {
      if (!path.includes('node_modules/')) sources.set(path, readFileSync(join(root, path), 'utf8'))
    }
  }
  return sources
}

/** All edges of all sources. `exists` knows files that are no sources: style sheets, JSON, fixtures. */
export function readEdges(sources: Sources, exists: (path: string) => boolean = () => false): Edge[] {
  const known = (path: string) => sources.has(path) || exists(path)
  return [...sources].flatMap(([from, source]) =>
    [...specifiersOf(from, source)].map(([specifier, kind]) => ({
      from,
      specifier,
      kind,
      ...target(from, specifier, known),
    })),
  )
}

function specifiersOf(path: string, source: string): Map<string, Edge['kind']> {
  const text = source.replace(COMMENT_LINE, '')
  const found = new Map<string, Edge['kind']>()
  for (const match of text.matchAll(FILE_URL)) found.set(match[2] ?? '', 'worker')
  for (const pattern of [STATEMENT, IMPORT_CALL]) {
    for (const match of text.matchAll(pattern)) found.set(match[2] ?? '', 'type')
  }
  const transpiler = transpilers[path.endsWith('x') ? 'tsx' : 'ts']
  for (const { path: specifier } of transpiler.scanImports(source)) found.set(specifier, 'value')
  if (COMPUTED_CALL.test(text)) found.set(COMPUTED, 'value')
  return found
}

/** A file that does not exist (the compiler reports it) is judged by its name. */
function target(from: string, specifier: string, known: (path: string) => boolean): Pick<Edge, 'file' | 'package'> {
  if (specifier === COMPUTED) return { file: COMPUTED, package: null }
  if (!/^\.{0,2}\//.test(specifier) && specifier !== '.' && specifier !== '..') {
    return { file: null, package: packageName(specifier) }
  }
  // A file before the folder of its name: `./config` is config.ts, although config/ exists.
  const path = normalize(join(dirname(from), specifier.split('?')[0] ?? ''))
  const sources = [`${path}.ts`, `${path}.tsx`, path.replace(/\.js$/, '.ts'), `${path}/index.ts`, `${path}/index.tsx`]
  return { file: [...sources, path].find(known) ?? (extname(path) === '' ? `${path}.ts` : path), package: null }
}

function packageName(specifier: string): string {
  if (/^(node|bun):/.test(specifier)) return specifier
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
}

/** The files that read the environment, in any spelling. */
export function environmentReaders(sources: Sources): string[] {
  return [...sources].filter(([, source]) => ENVIRONMENT.test(source.replace(COMMENT_LINE, ''))).map(([path]) => path)
}

/** The paths that come back to where they began, type-only edges included; workers are left out. */
export function findCycles(edges: readonly Edge[]): string[][] {
  const next = new Map<string, string[]>()
  for (const { from, file, kind } of edges) {
    if (file !== null && kind !== 'worker') next.set(from, [...(next.get(from) ?? []), file])
  }
  const cycles: string[][] = []
  const state = new Map<string, 'open' | 'done'>()
  const path: string[] = []
  const visit = (file: string) => {
    state.set(file, 'open')
    path.push(file)
    for (const to of next.get(file) ?? []) {
      if (state.get(to) === 'open') cycles.push([...path.slice(path.indexOf(to)), to])
      else if (!state.has(to)) visit(to)
    }
    path.pop()
    state.set(file, 'done')
  }
  for (const file of next.keys()) if (!state.has(file)) visit(file)
  return cycles
}
