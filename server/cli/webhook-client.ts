import type {
  DeliveryPage,
  NewWebhook,
  OneDelivery,
  OneWebhook,
  WebhookChange,
  WebhookList,
  WebhookWithSecret,
} from '../http/webhooks/record'

/** Calls a route, such as `/hook_1/deliveries`. `query`: of the URL. */
export type CallWebhooks = (
  method: string,
  path: string,
  body?: unknown,
  query?: Readonly<Record<string, string>>,
) => Promise<unknown>

/** Changes webhooks and reads their log: the caller's own, or an operator's over the control socket. */
export class WebhookClient {
  private readonly call: CallWebhooks

  constructor(call: CallWebhooks) {
    this.call = call
  }

  list() {
    return this.call('GET', '') as Promise<WebhookList>
  }

  add(webhook: NewWebhook) {
    return this.call('POST', '', webhook) as Promise<WebhookWithSecret>
  }

  change(id: string, change: WebhookChange) {
    return this.call('PATCH', one(id), change) as Promise<OneWebhook>
  }

  remove(id: string) {
    return this.call('DELETE', one(id)) as Promise<OneWebhook>
  }

  rotate(id: string) {
    return this.call('POST', one(id, '/rotate')) as Promise<WebhookWithSecret>
  }

  confirm(id: string, code: string) {
    return this.call('POST', one(id, '/confirm'), { code }) as Promise<OneWebhook>
  }

  sendCode(id: string) {
    return this.call('POST', one(id, '/code')) as Promise<OneDelivery>
  }

  test(id: string) {
    return this.call('POST', one(id, '/test')) as Promise<OneDelivery>
  }

  /** `cursor`: null for the newest. */
  deliveries(id: string, limit: number, cursor: string | null) {
    const query = { limit: String(limit), ...(cursor !== null && { cursor }) }
    return this.call('GET', one(id, '/deliveries'), undefined, query) as Promise<DeliveryPage>
  }

  resend(id: string, delivery: string) {
    return this.call('POST', one(id, `/deliveries/${encodeURIComponent(delivery)}/resend`)) as Promise<OneDelivery>
  }
}

function one(id: string, action = ''): string {
  return `/${encodeURIComponent(id)}${action}`
}
