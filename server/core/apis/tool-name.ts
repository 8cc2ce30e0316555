import { createHash } from 'node:crypto'

const MAX_LENGTH = 40
const HASH_LENGTH = 6

/** Names of the built-in tools, which an imported operation never gets. A test holds the list to the tools that there are. */
export const BUILT_IN_TOOLS: readonly string[] = [
  ...['image_search', 'llm_context', 'deep_research', 'balance', 'usage', 'explain_charge', 'models'],
  ...['social_follow', 'social_unfollow', 'social_like', 'social_unlike', 'social_post', 'social_delete'],
  ...['social_dm', 'social_user', 'social_dm_threads', 'social_link'],
  ...['search_operations', 'describe_operation', 'quote_operation', 'call_operation', 'call_write_operation'],
]

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
