import { isJson, parsedJson } from '../../core/json'

/** A chunk of the build, by its source file in Vite's manifest. */
interface Chunk {
  readonly file: string
  readonly imports: readonly string[]
}

const ENTRY = 'index.html'
/** On every page, and loaded after the first paint. */
const SHELL_PARTS = ['banner', 'bell', 'live-events'].map((name) => `src/shell/${name}.tsx`)
/** Pages that have another name than their path. */
const NAMES: Readonly<Record<string, string>> = {
  '/': 'overview',
  '/keys/*': 'key',
  '/requests/*': 'request',
}

/**
 * The further resources of a page beyond the files that the HTML names, as values of a `Link` header: the account, which the router asks for before it
 * shows anything, and the code of the page. Without it, a browser learns of each only when the one before has run, which over a slow
 * connection costs a second each. Nothing for a path that has no page of its own name.
 */
export function pagePreloads(manifest: Uint8Array | undefined): (path: string) => string | null {
  const chunks = chunksOf(parsedJson(new TextDecoder().decode(manifest)))
  const inPage = filesOf(chunks, [ENTRY])
  return (path) => {
    const name = NAMES[path.replace(/^(\/[a-z]+\/)[^/]+$/, '$1*')] ?? path.slice(1).replaceAll('/', '-')
    const page = `src/pages/${name}.tsx`
    if (!chunks.has(page)) return null
    const files = [...filesOf(chunks, [page, ...SHELL_PARTS])].filter((file) => !inPage.has(file))
    const scripts = files.map((file) => `</${file}>; rel=modulepreload; crossorigin; fetchpriority=low`)
    return ['</api/account>; rel=preload; as=fetch; crossorigin=anonymous', ...scripts].join(', ')
  }
}

function chunksOf(manifest: unknown): ReadonlyMap<string, Chunk> {
  if (!isJson(manifest)) return new Map()
  return new Map(
    Object.entries(manifest).flatMap(([source, chunk]): [string, Chunk][] => {
      const { file, imports } = Object(chunk)
      return typeof file === 'string'
        ? [[source, { file, imports: Array.isArray(imports) ? imports.map(String) : [] }]]
        : []
    }),
  )
}

/** The files of these chunks and of all that they import. */
function filesOf(chunks: ReadonlyMap<string, Chunk>, sources: readonly string[]): ReadonlySet<string> {
  const seen = new Set<string>()
  const add = (source: string) => {
    const chunk = chunks.get(source)
    if (!chunk || seen.has(chunk.file)) return
    seen.add(chunk.file)
    for (const imported of chunk.imports) add(imported)
  }
  for (const source of sources) add(source)
  return seen
}
