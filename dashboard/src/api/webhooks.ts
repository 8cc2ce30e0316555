import { queryOptions } from '@tanstack/react-query'
import type { DeliveryRecord, WebhookRecord } from '../../../server/http/webhooks/record.ts'
import { api, unwrap } from './client/client.ts'

export type Webhook = WebhookRecord
export type WebhookEvent = Webhook['events'][number]
export type WebhookDelivery = DeliveryRecord

export const webhooksQuery = queryOptions({ queryKey: ['webhooks'], queryFn: () => unwrap(api.webhooks.get()) })

const LOG_EVERY_MS = 2_000

/** Read again every two seconds, because deliveries happen in the background. */
export const deliveriesQuery = (id: string) =>
  queryOptions({
    queryKey: ['webhooks', id, 'deliveries'],
    queryFn: () => unwrap(api.webhooks({ id }).deliveries.get()),
    refetchInterval: LOG_EVERY_MS,
  })

export const createWebhook = (url: string, events: readonly WebhookEvent[]) =>
  unwrap(api.webhooks.post({ url, events: [...events] }))
export const changeWebhook = (id: string, status: 'active' | 'paused') => unwrap(api.webhooks({ id }).patch({ status }))
export const deleteWebhook = (id: string) => unwrap(api.webhooks({ id }).delete())
export const rotateWebhook = (id: string) => unwrap(api.webhooks({ id }).rotate.post())
export const confirmWebhook = (id: string, code: string) => unwrap(api.webhooks({ id }).confirm.post({ code }))
export const sendWebhookCode = (id: string) => unwrap(api.webhooks({ id }).code.post())
export const testWebhook = (id: string) => unwrap(api.webhooks({ id }).test.post())
export const resendDelivery = (id: string, delivery: string) =>
  unwrap(api.webhooks({ id }).deliveries({ delivery }).resend.post())
