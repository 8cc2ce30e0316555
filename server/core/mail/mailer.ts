/** A message to one person, in plain text. */
export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
}

/** Sends mail. Resolves when the next server took the message; rejects when it did not. Null where no mail is set up. */
export interface Mailer {
  send(mail: Mail): Promise<void>
}
