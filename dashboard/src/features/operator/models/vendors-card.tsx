import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { failureFrom } from '../../../api/client/failure.ts'
import { listState } from '../../../api/client/list-state.ts'
import { type ModelVendor, removeVendor, vendorsQuery } from '../../../api/models.ts'
import { MODEL_TEXT as TEXT } from '../../../messages/models.ts'
import { UI_TEXT } from '../../../messages/ui.ts'
import { Badge } from '../../../ui/badge.tsx'
import { Button } from '../../../ui/button.tsx'
import { ConfirmAction } from '../../../ui/dialogs/confirm-action.tsx'
import { lazyPart } from '../../../ui/feedback/lazy-part.tsx'
import { Empty } from '../../../ui/feedback/states.tsx'
import { Card } from '../../../ui/layout/card.tsx'
import { Table } from '../../../ui/layout/table.tsx'
import { MoreMenu } from '../../../ui/menus/more-menu.tsx'
import { useOperatorAction } from '../action-form.tsx'

const AddVendorDialog = lazyPart(() => import('./vendor-dialogs.tsx').then(({ AddVendorDialog }) => AddVendorDialog))
const VendorKeyDialog = lazyPart(() => import('./vendor-dialogs.tsx').then(({ VendorKeyDialog }) => VendorKeyDialog))
const SellDialog = lazyPart(() => import('./sell-dialog.tsx').then(({ SellDialog }) => SellDialog))

const { vendorColumns: HEADS } = TEXT

type Open = { readonly what: 'add' } | { readonly what: 'sell' | 'key' | 'remove'; readonly name: string }

/** The servers of models with the operator's keys. Adding one goes on to sell a model of it. */
export function VendorsCard() {
  const vendors = useQuery(vendorsQuery)
  const [open, setOpen] = useState<Open | null>(null)
  const close = () => setOpen(null)
  const add = (
    <Button tone="primary" onClick={() => setOpen({ what: 'add' })}>
      {TEXT.addVendor}
    </Button>
  )
  const actions = (vendor: ModelVendor) => (
    <Actions vendor={vendor} onOpen={(what) => setOpen({ what, name: vendor.name })} />
  )
  return (
    <Card title={TEXT.vendors} flush aside={vendors.data?.length ? add : null}>
      <Table
        caption={TEXT.vendorTable}
        columns={[
          { id: 'name', head: HEADS.name, cell: (vendor) => <Name {...vendor} /> },
          { id: 'key', card: 'aside', head: HEADS.key, cell: (vendor) => <Key {...vendor} /> },
          { id: 'models', head: HEADS.models, numeric: true, cell: ({ models }) => models.length },
          { id: 'act', card: 'below', head: HEADS.act, silent: true, numeric: true, cell: actions },
        ]}
        rowKey={({ name }) => name}
        textOf={({ name }) => name}
        state={{ rows: vendors.data, ...listState(vendors) }}
        empty={<Empty action={add}>{TEXT.noVendors}</Empty>}
      />
      {open?.what === 'add' && <AddVendorDialog onClose={close} onAdded={(name) => setOpen({ what: 'sell', name })} />}
      {open?.what === 'sell' && <SellDialog vendor={open.name} onClose={close} />}
      {open?.what === 'key' && <VendorKeyDialog name={open.name} onClose={close} />}
      {open?.what === 'remove' && <RemoveVendorDialog name={open.name} onClose={close} />}
    </Card>
  )
}

function Name({ name, base_url: url }: ModelVendor) {
  return (
    <div className="grid min-w-40">
      <span className="font-medium wrap-anywhere">{name}</span>
      <span className="code text-muted wrap-anywhere">{url}</span>
    </div>
  )
}

function Key({ has_key: has, key_opens: opens }: ModelVendor) {
  if (!has) return <span className="text-muted">{TEXT.keys.none}</span>
  return <Badge tone={opens ? 'ok' : 'bad'}>{opens ? TEXT.keys.set : TEXT.keys.broken}</Badge>
}

function Actions({ vendor: { name }, onOpen }: ActionsProps) {
  return (
    <div className="flex items-center justify-end gap-1">
      <Button aria-label={`${TEXT.sell}: ${name}`} onClick={() => onOpen('sell')}>
        {TEXT.sell}
      </Button>
      <MoreMenu
        label={UI_TEXT.actionsOf(name)}
        entries={[
          { kind: 'action', label: TEXT.setKey, onSelect: () => onOpen('key') },
          { kind: 'action', label: TEXT.remove, danger: true, onSelect: () => onOpen('remove') },
        ]}
      />
    </div>
  )
}

type ActionsProps = { vendor: ModelVendor; onOpen: (what: 'sell' | 'key' | 'remove') => void }

function RemoveVendorDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const removing = useOperatorAction(() => removeVendor(name), TEXT.vendorRemoved(name), onClose)
  return (
    <ConfirmAction
      title={TEXT.removeVendorTitle(name)}
      text={TEXT.removeVendorText}
      cancelLabel={TEXT.keep}
      confirmLabel={TEXT.remove}
      action={removing}
      failure={failureFrom(removing)}
      onClose={onClose}
    />
  )
}
