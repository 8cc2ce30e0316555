// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

struct TokenPermissions { address token; uint256 amount; }
struct Permit { TokenPermissions permitted; uint256 nonce; uint256 deadline; }
struct Details { address to; uint256 requestedAmount; }
struct Witness { address to; address facilitator; uint256 validAfter; }
struct TokenPermit { uint256 value; uint256 deadline; bytes32 r; bytes32 s; uint8 v; }

interface Permit2 {
    function permitWitnessTransferFrom(
        Permit calldata permit,
        Details calldata details,
        address owner,
        bytes32 witness,
        string calldata witnessTypeString,
        bytes calldata signature
    ) external;
}

interface PermitToken {
    function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s) external;
}

/// A double of the contract that settles `upto` of x402, written from its published interface (ABI, errors and signed types of the npm
/// package x402/evm). Tests put it at the address of the real one, beside the real Permit2.
contract UptoProxy {
    Permit2 public constant PERMIT2 = Permit2(0x000000000022D473030F116dDEE9F6B43aC78BA3);
    string public constant WITNESS_TYPE_STRING =
        "Witness witness)TokenPermissions(address token,uint256 amount)Witness(address to,address facilitator,uint256 validAfter)";
    bytes32 public constant WITNESS_TYPEHASH = keccak256("Witness(address to,address facilitator,uint256 validAfter)");

    error AmountExceedsPermitted();
    error UnauthorizedFacilitator();
    error InvalidAmount();
    error InvalidOwner();
    error InvalidDestination();
    error PaymentTooEarly();
    error Permit2612AmountMismatch();

    event Settled();
    event SettledWithPermit();

    function settle(Permit calldata permit, uint256 amount, address owner, Witness calldata witness, bytes calldata signature)
        external
    {
        judge(permit, amount, owner, witness);
        move(permit, amount, owner, witness, signature);
        emit Settled();
    }

    function settleWithPermit(
        TokenPermit calldata own,
        Permit calldata permit,
        uint256 amount,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external {
        judge(permit, amount, owner, witness);
        if (own.value != permit.permitted.amount) revert Permit2612AmountMismatch();
        // An approval that is there already, or given by somebody who was faster, is as good.
        try PermitToken(permit.permitted.token).permit(owner, address(PERMIT2), own.value, own.deadline, own.v, own.r, own.s) {} catch {}
        move(permit, amount, owner, witness, signature);
        emit SettledWithPermit();
    }

    function judge(Permit calldata permit, uint256 amount, address owner, Witness calldata witness) private view {
        if (amount > permit.permitted.amount) revert AmountExceedsPermitted();
        if (msg.sender != witness.facilitator) revert UnauthorizedFacilitator();
        if (amount == 0) revert InvalidAmount();
        if (owner == address(0)) revert InvalidOwner();
        if (witness.to == address(0)) revert InvalidDestination();
        if (block.timestamp < witness.validAfter) revert PaymentTooEarly();
    }

    function move(Permit calldata permit, uint256 amount, address owner, Witness calldata witness, bytes calldata signature)
        private
    {
        bytes32 hash = keccak256(abi.encode(WITNESS_TYPEHASH, witness.to, witness.facilitator, witness.validAfter));
        PERMIT2.permitWitnessTransferFrom(permit, Details(witness.to, amount), owner, hash, WITNESS_TYPE_STRING, signature);
    }
}
