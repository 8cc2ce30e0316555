import { ConfigError } from './config-error'
import { group, invalidSetting, type Read, setting, text } from './schema/setting'

/** How mail is sent. */
export interface MailConfig {
  readonly url: string
  readonly from: string
}

export const MAIL = group(
  'Mail',
  'Set both or none. With them, signup credit and the first sign-in wait until the address is confirmed. Without them an operator hands out links: `bun run gateway operator reset-link ACCOUNT`.',
  {
    SMTP_URL: setting(
      {
        default: null,
        secret: true,
        otherwise: 'no mail',
        example: 'smtps://user:password@mail.example.com:465',
        doc: 'Mail server (`smtps://user:password@host:465`) for sign-up confirmations, password resets and address changes',
      },
      { type: 'string' },
      smtpUrl,
    ),
    MAIL_FROM: text({
      is: /^[^\r\n]*[^\s@<>]+@[^\s@<>]+>?$/,
      rule: 'an address such as gateway@example.com or "Gateway <gateway@example.com>"',
      example: 'gateway@example.com',
      doc: 'Sender of mail',
    }),
  },
)

/** Reads `SMTP_URL` and `MAIL_FROM`: both, or null if neither is set. */
export function mailConfig(read: Read): MailConfig | null {
  const [url, from] = [MAIL.settings.SMTP_URL.of(read), MAIL.settings.MAIL_FROM.of(read)]
  if (url === null && from === null) return null
  if (url === null)
    throw new ConfigError(
      'SMTP_URL is not set, but MAIL_FROM is. Mail needs both, such as SMTP_URL=smtps://user:password@mail.example.com:465',
    )
  if (from === null)
    throw new ConfigError(
      'MAIL_FROM is not set, but SMTP_URL is. Mail needs both, such as MAIL_FROM=gateway@example.com',
    )
  return { url, from }
}

function smtpUrl(given: string, name: string): string {
  const url = URL.parse(given)
  // The URL may contain a password, so the message does not repeat it.
  const isWhole = url !== null && ['', '/'].includes(url.pathname) && url.hash === '' && !url.search.includes('@')
  if (!isWhole || !['smtp:', 'smtps:'].includes(url.protocol) || url.hostname === '')
    throw invalidSetting(
      name,
      'a URL such as smtps://user:password@mail.example.com:465, with % / ? # @ of the password as %25 %2F %3F %23 %40',
      null,
    )
  return url.href
}
