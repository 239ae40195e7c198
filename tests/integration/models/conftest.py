from tests.servers import stub, stub_process

__all__ = ["stub", "stub_process"]
