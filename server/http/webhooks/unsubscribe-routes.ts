import { auditEntry } from '../../core/audit'
import { formatAddress } from '../../core/credentials/address'
import type { NoticeMailStore, UnsubscribeLinks } from '../../core/webhooks/notice-mails'
import { routeGroup } from '../middleware/request-context'
import { UNDOCUMENTED } from '../openapi/documented'

export interface UnsubscribeParts {
  readonly noticeMails: NoticeMailStore
  readonly unsubscribeLinks: UnsubscribeLinks
  readonly now: () => number
}

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  // The address contains the token.
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

/**
 * The link in mails of notices. Opening it changes nothing, as scanners open all links; a `POST`, from its button or from the mail program
 * (RFC 8058), ends the mails without a sign-in.
 */
export function unsubscribeRoutes({ noticeMails, unsubscribeLinks, now }: UnsubscribeParts) {
  const accountOf = (url: URL) => unsubscribeLinks.read(url.searchParams.get('token') ?? '')
  return routeGroup({ name: 'unsubscribe' })
    .get(
      '/unsubscribe',
      ({ context }) =>
        accountOf(context.url)
          ? page(
              200,
              'Unsubscribe',
              '<form method="post"><button>Stop mailing me notices and summaries</button></form>',
            )
          : invalid(),
      UNDOCUMENTED,
    )
    .post(
      '/unsubscribe',
      async ({ context }) => {
        const accountId = accountOf(context.url)
        if (!accountId) return invalid()
        const actor = { kind: 'owner', id: 'unsubscribe', address: formatAddress(context.address) } as const
        const audit = auditEntry({ at: now(), actor, accountId, action: 'notices.unsubscribed' })
        await noticeMails.choose(accountId, { kinds: [], weeklySummary: false }, audit)
        return page(
          200,
          'You are unsubscribed',
          '<p>No more notices or summaries are mailed to you. Notices stay in the dashboard. Choose mails in its settings.</p>',
        )
      },
      { parse: 'none', ...UNDOCUMENTED },
    )
}

const invalid = () => page(404, 'This link is not valid', '<p>Open the link of a newer mail.</p>')

function page(status: number, title: string, content: string): Response {
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title>`
  return new Response(
    `<!doctype html><html lang="en"><head>${head}</head><body><main><h1>${title}</h1>${content}</main></body></html>`,
    {
      status,
      headers: HEADERS,
    },
  )
}
