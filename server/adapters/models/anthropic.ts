import type { Vendor } from './vendor'

const VERSION = '2023-06-01'

export const ANTHROPIC: Vendor = {
  url: ({ baseUrl }) => `${baseUrl}/messages`,
  headers: (key, { headers }) => ({
    'anthropic-version': headers['anthropic-version'] ?? VERSION,
    ...(headers['anthropic-beta'] !== undefined && { 'anthropic-beta': headers['anthropic-beta'] }),
    ...(key !== null && { 'x-api-key': key }),
  }),
  isAboutUs: (_status, error) => error['type'] === 'billing_error',
  waitSeconds: () => null,
}
