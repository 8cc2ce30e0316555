import { passedBetas } from '../../pipeline/models/wires/anthropic/betas'
import type { Vendor } from './vendor'

const VERSION = '2023-06-01'

export const ANTHROPIC: Vendor = {
  url: ({ baseUrl }, { wire }) => `${baseUrl}/messages${wire.route === 'messages_count_tokens' ? '/count_tokens' : ''}`,
  headers: (key) => ({ 'anthropic-version': VERSION, ...(key !== null && { 'x-api-key': key }) }),
  callHeaders({ headers, model }) {
    const version = headers['anthropic-version']
    const betas = passedBetas(headers['anthropic-beta'], model.betas)
    if (version === undefined && betas.length === 0) return null
    return {
      ...(version !== undefined && { 'anthropic-version': version }),
      ...(betas.length > 0 && { 'anthropic-beta': betas.join(',') }),
    }
  },
  isAboutUs: (_status, error) => error['type'] === 'billing_error',
  waitSeconds: () => null,
}
