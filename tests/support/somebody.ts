import type { CallOrigin } from '../../server/core/providers/provider'

/** Whom a provider is called for, where it makes no difference. */
export const SOMEBODY: CallOrigin = { caller: 'somebody', traceparent: null }
