import type { AccountId } from '../../ids'
import { type Page, pageOf } from '../../page'
import type { Account } from '../account'
import type { AccountDirectory } from '../directory'
import type { AccountStore } from '../store'
import type { AccountFinder } from './account-notes'

/** The beginning of a key as it is shown, possibly with its last four characters: `gwk_Ab12` or `gwk_Ab12…9xYz`. */
const SHOWN_KEY = /^(gwk_[0-9A-Za-z]{1,4})(?:[^0-9A-Za-z]+([0-9A-Za-z]{4}))?$/
/** A whole key. Only what is shown of it is used. */
const WHOLE_KEY = /^gwk_[0-9A-Za-z]{9,}$/
const SHOWN_LENGTH = 8
const MAX_OF_KEYS = 200

/** Finds accounts by whatever an operator has at hand: part of an email address or name, or an id or key from a log or a letter. */
export class AccountSearch {
  private readonly parts: {
    readonly accounts: AccountStore
    readonly directory: Pick<AccountDirectory, 'search'>
    readonly finder: AccountFinder
  }

  constructor(parts: AccountSearch['parts']) {
    this.parts = parts
  }

  /** Newest first; all accounts without a text. */
  async page(text: string | undefined, limit: number, after: AccountId | null): Promise<Page<Account>> {
    if (text === undefined) return pageOf(await this.parts.accounts.list(limit + 1, after), limit)
    const exact = await this.named(text.trim())
    if (exact) return { rows: after === null ? await this.accountsOf(exact) : [], next: null }
    return this.ofUsers(text.trim(), limit, after)
  }

  /** The accounts that an id or a key belongs to; null for any other text. */
  private async named(text: string): Promise<readonly AccountId[] | null> {
    const { finder } = this.parts
    const one = async (found: Promise<AccountId | null>) => [await found].filter((id) => id !== null)
    if (/^acct_[0-9a-f]{32}$/.test(text)) return [text as AccountId]
    if (/^key_[0-9a-f]{32}$/.test(text)) return one(finder.ofKey(text))
    if (/^req_[0-9a-f]{32}$/.test(text)) return one(finder.ofRequest(text))
    if (/^pay_[0-9a-f]{32}$/.test(text)) return one(finder.ofPayment(text))
    if (WHOLE_KEY.test(text)) return finder.ofKeys(text.slice(0, SHOWN_LENGTH), text.slice(-4), MAX_OF_KEYS)
    const shown = SHOWN_KEY.exec(text)
    return shown?.[1] ? finder.ofKeys(shown[1], shown[2] ?? null, MAX_OF_KEYS) : null
  }

  private async accountsOf(ids: readonly AccountId[]): Promise<readonly Account[]> {
    const found = await Promise.all(ids.map((id) => this.parts.accounts.byId(id)))
    return found.filter((account) => account !== null)
  }

  private async ofUsers(text: string, limit: number, after: AccountId | null): Promise<Page<Account>> {
    const found: Account[] = []
    for (let last = after; ; ) {
      const ids = await this.parts.directory.search(text, limit + 1, last)
      // Some may not be opened yet.
      found.push(...(await this.accountsOf(ids)))
      last = ids.at(-1) ?? null
      if (found.length > limit || ids.length <= limit) return pageOf(found, limit)
    }
  }
}
