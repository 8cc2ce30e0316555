import { createHmac, timingSafeEqual } from 'node:crypto'
import type { DeliveryId } from '../ids'
import type { Webhook } from './webhook'

/** The replacement of a code in the log of deliveries. */
export const HIDDEN_CODE = '********'

/** Without letters that are read as others. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const LENGTH = HIDDEN_CODE.length

/**
 * The codes that prove that a receiver wants the events of an endpoint: 8 letters and digits, 40 bits. They follow from the secret of the
 * gateway and are stored nowhere, so neither the log nor a copy of the database has them.
 */
export class WebhookCodes {
  private readonly secret: string

  constructor(secret: string) {
    this.secret = secret
  }

  /** The code that a delivery takes to the current URL of an endpoint. Another URL has another code. */
  of({ id, url }: Pick<Webhook, 'id' | 'url'>, delivery: DeliveryId): string {
    const digest = createHmac('sha256', this.secret).update(`webhook-code\n${id}\n${delivery}\n${url}`).digest()
    return Array.from(digest.subarray(0, LENGTH), (byte) => ALPHABET[byte % ALPHABET.length]).join('')
  }

  /** In constant time. Case, spaces and hyphens do not matter. */
  matches(entered: string, webhook: Pick<Webhook, 'id' | 'url'>, delivery: DeliveryId): boolean {
    const mine = Buffer.from(this.of(webhook, delivery))
    const theirs = Buffer.from(entered.replaceAll(/[\s-]/g, '').toUpperCase())
    return mine.length === theirs.length && timingSafeEqual(mine, theirs)
  }
}
