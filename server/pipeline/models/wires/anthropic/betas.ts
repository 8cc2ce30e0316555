import { type Failure, failure } from '../../../../core/failure'

/** The versions of the API whose members and prices the gateway knows. They differ in what the vendor refuses, not in what it bills. */
const VERSIONS: readonly string[] = ['2023-06-01', '2026-10-21']
const VERSION_HEADER = 'anthropic-version'

/** The failure of a call in a version that may bill what the gateway does not know; null for none, and for a known one. */
export function unknownVersion(headers: Readonly<Record<string, string>>): Failure | null {
  const version = headers[VERSION_HEADER]
  if (version === undefined || VERSIONS.includes(version)) return null
  return failure('invalid_parameter', `${VERSION_HEADER} must be ${VERSIONS.join(' or ')}.`, { param: VERSION_HEADER })
}

/**
 * Anthropic betas that change what a model does or how it answers, but not what a token costs or what else is billed. Unknown
 * betas are removed: one may enable a longer context, a faster tier or a vendor tool. The list has `claude-code-20250219` and
 * the others that agents send by default, so that an agent's first call works.
 */
const BILLED_AS_TOKENS: ReadonlySet<string> = new Set([
  'adaptive-thinking-2026-01-28',
  'advanced-tool-use-2025-11-20',
  'cache-diagnosis-2026-04-07',
  'claude-code-20250219',
  'computer-use-2024-10-22',
  'computer-use-2025-01-24',
  'computer-use-2025-11-24',
  'context-management-2025-06-27',
  'effort-2025-11-24',
  'extended-cache-ttl-2025-04-11',
  'fine-grained-tool-streaming-2025-05-14',
  'interleaved-thinking-2025-05-14',
  'model-context-window-exceeded-2025-08-26',
  'output-128k-2025-02-19',
  'pdfs-2024-09-25',
  'prompt-caching-2024-07-31',
  'prompt-caching-scope-2026-01-05',
  'redact-thinking-2026-02-12',
  'structured-outputs-2025-11-13',
  'structured-outputs-2025-12-15',
  'task-budgets-2026-03-13',
  'thinking-display-updates-2026-08-18',
  'thinking-token-count-2026-05-13',
  'token-counting-2024-11-01',
  'token-efficient-tools-2025-02-19',
  'token-efficient-tools-2026-03-28',
  'tool-examples-2025-10-29',
])
/** Bounds of the header that lists removed betas: the names in it, and the characters of a name. */
const MAX_LISTED = 32
const MAX_CHARACTERS = 100

/** The betas of a caller's `anthropic-beta` that are forwarded to the vendor. `more`: the betas in the model's entry. */
export function passedBetas(header: string | undefined, more: readonly string[]): readonly string[] {
  return namesIn(header).filter((name) => BILLED_AS_TOKENS.has(name) || more.includes(name))
}

/** The caller's betas that are not forwarded, in a form that fits a response header. */
export function removedBetas(header: string | undefined, more: readonly string[]): readonly string[] {
  return header === undefined ? NONE : removedIn(header, more)
}

const NONE: readonly string[] = []

function removedIn(header: string, more: readonly string[]): readonly string[] {
  return namesIn(header)
    .filter((name) => !BILLED_AS_TOKENS.has(name) && !more.includes(name))
    .slice(0, MAX_LISTED)
    .map((name) => name.replace(/[^\x21-\x7e]/g, '?').slice(0, MAX_CHARACTERS))
}

function namesIn(header = ''): readonly string[] {
  return [...new Set(header.split(',').map((name) => name.trim()))].filter((name) => name !== '')
}
