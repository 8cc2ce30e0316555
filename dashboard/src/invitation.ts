const NAME = 'invitation'

/** Keeps the secret of an invitation for this tab, so that it is still there after a sign-in; null forgets it. */
export function keepInvitation(token: string | null): void {
  if (token === null) sessionStorage.removeItem(NAME)
  else sessionStorage.setItem(NAME, token)
}

export function keptInvitation(): string | null {
  return sessionStorage.getItem(NAME)
}
