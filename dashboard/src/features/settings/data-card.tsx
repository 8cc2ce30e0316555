import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { accountQuery } from '../../api/account/account.ts'
import { EXPORT_PATH } from '../../api/account/settings.ts'
import { SETTINGS_TEXT as TEXT } from '../../messages/settings.ts'
import { buttonClass } from '../../ui/button.tsx'
import { lazyPart } from '../../ui/feedback/lazy-part.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { DangerZone } from '../../ui/layout/detail-page.tsx'

const DeleteAccount = lazyPart(() => import('./delete-account.tsx').then(({ DeleteAccount }) => DeleteAccount))

/** Data export, and account deletion. */
export function DataCard() {
  const account = useQuery(accountQuery).data
  const [isDeleting, setDeleting] = useState(false)
  return (
    <>
      <Card title={TEXT.data}>
        <p>{TEXT.exportText}</p>
        <a href={EXPORT_PATH} download className={buttonClass('plain', 'justify-self-start')}>
          {TEXT.exportData}
        </a>
      </Card>
      <DangerZone actions={[{ label: TEXT.deleteAccount, text: TEXT.deleteText, onSelect: () => setDeleting(true) }]} />
      {isDeleting && account && (
        <DeleteAccount email={account.email} balance={account.balance_micros_usd} onCancel={() => setDeleting(false)} />
      )}
    </>
  )
}
