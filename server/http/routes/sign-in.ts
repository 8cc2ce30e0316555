import { Elysia } from 'elysia'
import type { Identity } from '../../core/accounts/identity'
import { formatAddress } from '../../core/credentials/address'
import type { FrontDesk } from '../front-desk'

/** `/api/auth/*`: the sign-in library answers, in the one error shape. */
export function signInRoutes(desk: FrontDesk, identity: Identity) {
  return new Elysia({ name: 'sign-in' }).all(
    '/api/auth/*',
    ({ request }) => {
      const { address, ids } = desk.arrival(request)
      return identity.handle(request, { address: formatAddress(address), requestId: ids.own })
    },
    { parse: 'none' },
  )
}
