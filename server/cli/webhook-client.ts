import type { AccountCommand } from '../http/operator/customers/customer-record'
import type {
  DeliveryPage,
  NewWebhook,
  OneDelivery,
  OneWebhook,
  WebhookChange,
  WebhookList,
  WebhookWithSecret,
} from '../http/webhooks/record'
import type { ApiClient } from './api'
import { askServer } from './control-client'

/** Changes webhooks and reads their log: the caller's own over HTTP, an operator's over the control socket. */
export interface WebhookClient {
  list(): Promise<WebhookList>
  add(webhook: NewWebhook): Promise<WebhookWithSecret>
  change(id: string, change: WebhookChange): Promise<OneWebhook>
  remove(id: string): Promise<OneWebhook>
  rotate(id: string): Promise<WebhookWithSecret>
  confirm(id: string, code: string): Promise<OneWebhook>
  sendCode(id: string): Promise<OneDelivery>
  test(id: string): Promise<OneDelivery>
  /** `cursor`: null for the newest. */
  deliveries(id: string, limit: number, cursor: string | null): Promise<DeliveryPage>
  resend(id: string, delivery: string): Promise<OneDelivery>
}

/** The webhooks of the account that is signed in. */
export function ownWebhooks(api: ApiClient): WebhookClient {
  async function ask<T>(method: string, path: string, body?: unknown) {
    return (await api.json(method, `/v1/webhooks${path}`, { body })) as T
  }
  const one = (id: string, action = '') => `/${encodeURIComponent(id)}${action}`
  return {
    list: () => ask('GET', ''),
    add: (webhook) => ask('POST', '', webhook),
    change: (id, change) => ask('PATCH', one(id), change),
    remove: (id) => ask('DELETE', one(id)),
    rotate: (id) => ask('POST', one(id, '/rotate')),
    confirm: (id, code) => ask('POST', one(id, '/confirm'), { code }),
    sendCode: (id) => ask('POST', one(id, '/code')),
    test: (id) => ask('POST', one(id, '/test')),
    deliveries(id, limit, cursor) {
      const query = new URLSearchParams({ limit: String(limit), ...(cursor !== null && { cursor }) })
      return ask('GET', one(id, `/deliveries?${query}`))
    },
    resend: (id, delivery) => ask('POST', one(id, `/deliveries/${encodeURIComponent(delivery)}/resend`)),
  }
}

/** The webhooks of an operator's account; without `account`, of the only operator. */
export function operatorWebhooks(account: string | undefined): WebhookClient {
  const named: Partial<AccountCommand> = account === undefined ? {} : { account }
  async function ask<T>(command: string, body: object = {}) {
    return (await askServer(command, { ...named, ...body })) as T
  }
  return {
    list: () => ask('webhooks'),
    add: (webhook) => ask('webhook-add', webhook),
    change: (webhook, change) => ask('webhook-set', { webhook, ...change }),
    remove: (webhook) => ask('webhook-remove', { webhook }),
    rotate: (webhook) => ask('webhook-rotate', { webhook }),
    confirm: (webhook, code) => ask('webhook-confirm', { webhook, code }),
    sendCode: (webhook) => ask('webhook-code', { webhook }),
    test: (webhook) => ask('webhook-test', { webhook }),
    deliveries: (webhook, limit, cursor) =>
      ask('webhook-deliveries', { webhook, limit, ...(cursor !== null && { cursor }) }),
    resend: (webhook, delivery) => ask('webhook-resend', { webhook, delivery }),
  }
}
