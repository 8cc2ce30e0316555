import { flag, group } from './schema/setting'

export const WEBHOOKS = group('Webhooks', '', {
  WEBHOOKS_ALLOW_PRIVATE: flag({
    default: false,
    doc: 'Whether endpoints of [webhooks](webhooks.md) may have private addresses and use http. Link-local and metadata addresses never',
  }),
})
