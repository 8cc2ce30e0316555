import { createHash } from 'node:crypto'

const MAX_LENGTH = 40
const HASH_LENGTH = 6

/**
 * A name for the MCP tool of an operation: at most 40 characters of `a-z0-9_`. It ends with a hash of the operation's name where it
 * was cut, or where another tool has it. `taken` holds the names of all tools, also of those that were removed.
 */
export function toolName(operation: string, taken: ReadonlySet<string>): string {
  const plain = operation
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
  if (plain !== '' && plain.length <= MAX_LENGTH && !taken.has(plain)) return plain
  for (let attempt = 0; ; attempt++) {
    const seed = attempt === 0 ? operation : `${operation}\n${attempt}`
    const hash = createHash('sha256').update(seed).digest('hex').slice(0, HASH_LENGTH)
    const start = plain.slice(0, MAX_LENGTH - HASH_LENGTH - 1).replace(/_+$/, '')
    const name = start === '' ? `tool_${hash}` : `${start}_${hash}`
    if (!taken.has(name)) return name
  }
}
