import type { Tables } from './tables'

/** Faults that a test or demo can make the sandbox produce, for one of its users. */
export const FAULTS = {
  rate_limit: 'Answer 429: too many requests',
  refuse: 'Answer 403: not permitted to do this',
  only_errors: 'Answer 200 with nothing but errors',
  credits: "Answer 402: the gateway's own credits are used up",
  unavailable: 'Answer 503',
  lost_answer: 'Do it, and lose the answer',
} as const

export type Fault = keyof typeof FAULTS

export function isFault(name: string): name is Fault {
  return Object.hasOwn(FAULTS, name)
}

export class Faults {
  private readonly tables: Tables

  constructor(tables: Tables) {
    this.tables = tables
  }

  /** Makes the next `times` calls of the user's apps fail this way; 0 stops it. */
  async set(user: string, fault: Fault, times: number): Promise<void> {
    await this.tables.change('DELETE FROM faults WHERE user = ?', user)
    if (times > 0) await this.tables.change('INSERT INTO faults VALUES (?, ?, ?)', user, fault, times)
  }

  async of(user: string): Promise<{ fault: Fault; remaining: number } | null> {
    const row = await this.tables.first('SELECT fault, remaining FROM faults WHERE user = ?', user)
    const fault = String(row?.['fault'])
    return row && isFault(fault) ? { fault, remaining: Number(row['remaining']) } : null
  }

  /** Consumes one pending fault; null when there is none. */
  async take(user: string): Promise<Fault | null> {
    const row = await this.tables.first(
      'UPDATE faults SET remaining = remaining - 1 WHERE user = ? AND remaining > 0 RETURNING fault, remaining',
      user,
    )
    if (!row) return null
    if (Number(row['remaining']) === 0)
      await this.tables.change('DELETE FROM faults WHERE user = ? AND remaining = 0', user)
    const fault = String(row['fault'])
    return isFault(fault) ? fault : null
  }
}
