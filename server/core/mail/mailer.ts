/** A plain-text message to one person. */
export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends mail. Resolves when the mail server accepts the message, otherwise rejects. Null if mail is not configured. */
export interface Mailer {
  send(mail: Mail): Promise<void>
}

/** The log line of a mail that failed. A mail server that cannot be reached is one line a minute, with a count. */
export const MAIL_FAILED = 'a mail could not be sent'
