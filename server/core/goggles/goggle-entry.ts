import { parseGoggle } from './goggle'

/** Where a goggle may be published. */
const GOGGLE_HOSTS: readonly string[] = [
  'github.com',
  'gist.github.com',
  'raw.githubusercontent.com',
  'gist.githubusercontent.com',
  'gitlab.com',
]

/** The maximum bytes of all inline goggles of a request. They are parsed before payment and take at most 30 ms of CPU. */
export const MAX_INLINE_BYTES = 100_000

/** An entry of `goggles`: a URL if it is a single line that looks like one, otherwise the goggle itself. */
export type GoggleEntry =
  | { readonly kind: 'hosted'; readonly url: URL }
  | { readonly kind: 'inline'; readonly text: string }

/** Parses an entry. Returns a string, the broken rule, if its URL is not allowed. */
export function goggleEntry(text: string): GoggleEntry | string {
  const line = text.trim()
  if (!/^https?:\/\//i.test(line) || /[\r\n]/.test(line)) return { kind: 'inline', text }
  const url = URL.parse(line)
  if (!url || !isGoggleAddress(url)) return `must be an https address on ${GOGGLE_HOSTS.join(', ')}`
  return { kind: 'hosted', url }
}

export function isGoggleAddress(url: URL): boolean {
  return url.protocol === 'https:' && url.port === '' && url.username === '' && GOGGLE_HOSTS.includes(url.hostname)
}

/** The first broken rule, with its entry and line; null if all inline goggles and URLs are valid. */
export function brokenGoggles(entries: readonly string[]): string | null {
  let inlineBytes = 0
  for (const [i, text] of entries.entries()) {
    const entry = goggleEntry(text)
    if (typeof entry === 'string') return `entry ${i + 1} ${entry}`
    if (entry.kind === 'hosted') continue
    inlineBytes += Buffer.byteLength(entry.text)
    if (inlineBytes > MAX_INLINE_BYTES)
      return `entry ${i + 1} takes the inline goggles over ${MAX_INLINE_BYTES} bytes together; publish it, and give its address`
    const parsed = parseGoggle(entry.text)
    if (!parsed.ok) return `entry ${i + 1}, line ${parsed.error.line}: ${parsed.error.rule}`
    if (parsed.value.instructions.length === 0) return `entry ${i + 1} holds no instruction`
  }
  return null
}
