import { passedBetas } from '../../pipeline/models/wires/anthropic/betas'
import type { Vendor } from './vendor'

const VERSION = '2023-06-01'

export const ANTHROPIC: Vendor = {
  url: ({ baseUrl }, { wire }) => `${baseUrl}/messages${wire.route === 'messages_count_tokens' ? '/count_tokens' : ''}`,
  headers(key, { headers, model }) {
    const betas = passedBetas(headers['anthropic-beta'], model.betas)
    return {
      'anthropic-version': headers['anthropic-version'] ?? VERSION,
      ...(betas.length > 0 && { 'anthropic-beta': betas.join(',') }),
      ...(key !== null && { 'x-api-key': key }),
    }
  },
  isAboutUs: (_status, error) => error['type'] === 'billing_error',
  waitSeconds: () => null,
}
