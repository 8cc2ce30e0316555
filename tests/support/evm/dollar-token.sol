// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// A dollar for tests: the parts of ERC-20, EIP-2612 and EIP-3009 that payments by authorization and by Permit2 need, told in the events and in the order
/// that the standard has. Anybody may mint: it is worth nothing. And anybody may make it misbehave: pause it, block an account, let
/// it take a fee of every transfer, let it tell of the transfer before the authorization.
contract DollarToken {
    string public constant name = "Test Dollar";
    string public constant version = "2";
    uint8 public constant decimals = 6;

    bytes32 private constant TRANSFER_TYPE = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 private constant PERMIT_TYPE =
        keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");
    bytes32 private constant CANCEL_TYPE = keccak256("CancelAuthorization(address authorizer,bytes32 nonce)");

    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    mapping(address => uint256) public nonces;
    mapping(address => mapping(bytes32 => bool)) public authorizationState;

    bool public paused;
    uint256 public feePercent;
    bool public tellsTransferFirst;
    mapping(address => bool) public blocked;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);

    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256(bytes(name)),
                keccak256(bytes(version)),
                block.chainid,
                address(this)
            )
        );
    }

    function setPaused(bool value) external {
        paused = value;
    }

    function setFeePercent(uint256 value) external {
        feePercent = value;
    }

    function setTellsTransferFirst(bool value) external {
        tellsTransferFirst = value;
    }

    function setBlocked(address account, bool value) external {
        blocked[account] = value;
    }

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value);
        return true;
    }

    function approve(address spender, uint256 value) external returns (bool) {
        approveFor(msg.sender, spender, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        uint256 allowed = allowance[from][msg.sender];
        require(allowed >= value, "transfer amount exceeds allowance");
        if (allowed != type(uint256).max) allowance[from][msg.sender] = allowed - value;
        move(from, to, value);
        return true;
    }

    function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s) external {
        require(block.timestamp <= deadline, "permit is expired");
        judge(owner, keccak256(abi.encode(PERMIT_TYPE, owner, spender, value, nonces[owner]++, deadline)), v, r, s);
        approveFor(owner, spender, value);
    }

    function approveFor(address owner, address spender, uint256 value) private {
        allowance[owner][spender] = value;
        emit Approval(owner, spender, value);
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        require(block.timestamp > validAfter, "authorization is not yet valid");
        require(block.timestamp < validBefore, "authorization is expired");
        require(!authorizationState[from][nonce], "authorization is used or canceled");
        judge(from, keccak256(abi.encode(TRANSFER_TYPE, from, to, value, validAfter, validBefore, nonce)), v, r, s);
        authorizationState[from][nonce] = true;
        if (!tellsTransferFirst) emit AuthorizationUsed(from, nonce);
        move(from, to, value);
        if (tellsTransferFirst) emit AuthorizationUsed(from, nonce);
    }

    function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external {
        require(!authorizationState[authorizer][nonce], "authorization is used or canceled");
        judge(authorizer, keccak256(abi.encode(CANCEL_TYPE, authorizer, nonce)), v, r, s);
        authorizationState[authorizer][nonce] = true;
        emit AuthorizationCanceled(authorizer, nonce);
    }

    function judge(address signer, bytes32 message, uint8 v, bytes32 r, bytes32 s) private view {
        bytes32 digest = keccak256(abi.encodePacked("\x19\x01", DOMAIN_SEPARATOR(), message));
        require(signer != address(0) && ecrecover(digest, v, r, s) == signer, "signature is not the signer's");
    }

    function move(address from, address to, uint256 value) private {
        require(!paused, "token is paused");
        require(!blocked[from] && !blocked[to], "account is blocked");
        require(balanceOf[from] >= value, "transfer amount exceeds balance");
        uint256 fee = value * feePercent / 100;
        balanceOf[from] -= value;
        balanceOf[to] += value - fee;
        emit Transfer(from, to, value - fee);
        if (fee == 0) return;
        balanceOf[address(this)] += fee;
        emit Transfer(from, address(this), fee);
    }
}
