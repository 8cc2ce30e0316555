import { createHash } from 'node:crypto'

/**
 * Which authorization codes are being redeemed. Uses of one code that overlap are the tries of one client (a double click, a
 * repeat by its HTTP library): one wins, and the others must not end what it gets. A use that comes later is a replay.
 */
export class CodeUses {
  private readonly open = new Map<string, { running: number; together: boolean }>()

  async during<T>(code: string, act: () => Promise<T>): Promise<T> {
    const id = storedCode(code)
    const use = this.open.get(id) ?? { running: 0, together: false }
    use.together ||= use.running > 0
    use.running++
    this.open.set(id, use)
    try {
      return await act()
    } finally {
      if (--use.running === 0) this.open.delete(id)
    }
  }

  /** Whether a code, as the library names it with the tokens that it gave, is used by several at once. */
  areTogether(stored: string): boolean {
    return this.open.get(stored)?.together ?? false
  }
}

/** The library's own form of a code at rest. */
function storedCode(code: string): string {
  return createHash('sha256').update(code).digest('base64url')
}
