import { ConfigError } from './config-error'

/** How mail is sent. */
export interface MailConfig {
  readonly url: string
  readonly from: string
}

/** Reads `SMTP_URL` and `MAIL_FROM`: both, or null if neither is set. */
export function mailConfig(read: (name: string) => string | null): MailConfig | null {
  const [url, from] = [read('SMTP_URL'), read('MAIL_FROM')]
  if (url === null && from === null) return null
  const parsed = URL.parse(url ?? '')
  // The URL may contain a password, so the message does not repeat it.
  if (!parsed || !['smtp:', 'smtps:'].includes(parsed.protocol) || parsed.hostname === '')
    throw new ConfigError('SMTP_URL must be a URL such as smtps://user:password@mail.example.com:465')
  if (from === null || !/^[^\r\n]*[^\s@<>]+@[^\s@<>]+>?$/.test(from))
    throw new ConfigError('MAIL_FROM must be an address such as gateway@example.com or "Gateway <gateway@example.com>"')
  return { url: parsed.href, from }
}
