import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { newRecoveryCodes, removeApp } from '../../api/account/second-factor.ts'
import { settingsQuery } from '../../api/account/settings.ts'
import { SECOND_FACTOR_TEXT as TEXT } from '../../messages/second-factor.ts'
import { Button } from '../../ui/button.tsx'
import { lazyPart } from '../../ui/feedback/lazy-part.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { Card } from '../../ui/layout/card.tsx'
import { Passkeys } from './passkeys.tsx'
import { PasswordDialog } from './password-dialog.tsx'
import { RecoveryCodes } from './recovery-codes.tsx'

/** Draws the QR code; few visits need it. */
const AppSetUp = lazyPart(() => import('./app-set-up.tsx').then(({ AppSetUp }) => AppSetUp))

type Open = 'set-up' | 'remove' | 'codes' | null

/** The owner's authenticator app, recovery codes and passkeys. */
export function SecondFactorCard() {
  const queries = useQueryClient()
  const factor = useQuery(settingsQuery).data?.second_factor
  const [open, setOpen] = useState<Open>(null)
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const close = () => {
    setOpen(null)
    setCodes(null)
    void queries.invalidateQueries({ queryKey: settingsQuery.queryKey })
  }
  return (
    <Card title={TEXT.title}>
      <p className="text-muted">{TEXT.intro}</p>
      {factor?.required && !factor.app && factor.passkeys === 0 && (
        <p className="rounded-md bg-warn-soft px-3 py-2 text-warn">{TEXT.required}</p>
      )}
      <div className="flex flex-wrap items-center justify-between gap-3">
        <div className="grid min-w-0 flex-1 basis-56 gap-1">
          <h3 className="font-medium">{TEXT.app}</h3>
          <p className="small text-muted">{factor?.app ? TEXT.appOn(factor.recovery_codes) : TEXT.appOff}</p>
        </div>
        <div className="flex flex-wrap gap-2">
          {factor?.app ? (
            <>
              <Button onClick={() => setOpen('codes')}>{TEXT.newCodes}</Button>
              <Button tone="warning" onClick={() => setOpen('remove')}>
                {TEXT.turnOff}
              </Button>
            </>
          ) : (
            <Button onClick={() => setOpen('set-up')}>{TEXT.setUp}</Button>
          )}
        </div>
      </div>
      {factor?.passkeys_offered && <Passkeys />}
      {open === 'set-up' && <AppSetUp onClose={close} />}
      {open === 'remove' && (
        <PasswordDialog
          title={TEXT.turnOff}
          text={TEXT.turnOffText}
          submit={removeApp}
          onClose={() => setOpen(null)}
          onDone={() => {
            void toast(TEXT.appRemoved)
            close()
          }}
        />
      )}
      {open === 'codes' &&
        (codes ? (
          <RecoveryCodes codes={codes} onSaved={close} />
        ) : (
          <PasswordDialog
            title={TEXT.newCodes}
            text={TEXT.newCodesText}
            submit={async (password) => setCodes(await newRecoveryCodes(password))}
            onClose={() => setOpen(null)}
          />
        ))}
    </Card>
  )
}
