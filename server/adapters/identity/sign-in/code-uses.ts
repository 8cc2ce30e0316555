import { createHash } from 'node:crypto'

/**
 * Tracks authorization codes that are being redeemed. Overlapping uses of a code are retries by one client (a double click, a
 * retry by its HTTP library): one wins, and the others must not revoke its tokens. A later use is a replay.
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

  /** Whether several requests are using a code at once. `code` is the form that the library stores with its tokens. */
  areTogether(stored: string): boolean {
    return this.open.get(stored)?.together ?? false
  }
}

/** How the library hashes a stored code. */
function storedCode(code: string): string {
  return createHash('sha256').update(code).digest('base64url')
}
